/* place_world: what the tests of places (fair = false) do again and again, in the world of
 * fake_world.h. */
#ifndef PLACE_WORLD_H
#define PLACE_WORLD_H

#include "fake_world.h"

/* How many requests the client has sent. */
unsigned place_asked(const fake_client *client);
void place_forget_counts(fake_client *client);

/* Joins on the client's place, and waits for ever. */
fake_caller *place_join(fake_client *client);
/* The same, and everything is answered. */
fake_caller *place_settled(fake_client *client);
/* The same, and holds. */
fake_caller *place_holder(fake_client *client);
/* Holds at once, without traffic. */
fake_caller *place_handed(fake_client *client);
void place_release(fake_caller *caller);
uint64_t place_turn(const fake_caller *caller);
/* How many nodes there are in the line. */
size_t place_nodes(void);

/* Of readers and writers. Each asks, and waits for ever. */
fake_caller *place_reads(fake_client *client);
fake_caller *place_writes(fake_client *client);
/* Does not wait. */
fake_caller *place_try(fake_client *client, zkl_kind kind);
/* That caller, when everything is answered. */
fake_caller *place_answered(fake_caller *caller);
/* Holds. */
fake_caller *place_reader(fake_client *client);
fake_caller *place_writer(fake_client *client);

#endif
