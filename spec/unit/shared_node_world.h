/* SPDX-License-Identifier: MIT */
/* shared_node_world: actions that the tests of shared nodes (fair = false) repeat, in the world of
 * fake_world.h. */
#ifndef SHARED_NODE_WORLD_H
#define SHARED_NODE_WORLD_H

#include "fake_world.h"

/* Joins on the client's shared node, and waits for ever. */
fake_caller *shared_join(fake_client *client);
/* The same, and everything is answered. */
fake_caller *shared_settled(fake_client *client);
/* The same, and holds. */
fake_caller *shared_holder(fake_client *client);
/* Holds at once, without traffic. */
fake_caller *shared_handed(fake_client *client);
void shared_release(fake_caller *caller);
uint64_t shared_turn(const fake_caller *caller);
/* How many nodes there are in the line. */
size_t shared_nodes(void);

/* Of readers and writers. Each asks, and waits for ever. */
fake_caller *shared_reads(fake_client *client);
fake_caller *shared_writes(fake_client *client);
/* Does not wait. */
fake_caller *shared_try(fake_client *client, zkl_kind kind);
/* That caller, when everything is answered. */
fake_caller *shared_answered(fake_caller *caller);
/* Holds. */
fake_caller *shared_reader(fake_client *client);
fake_caller *shared_writer(fake_client *client);

#endif
