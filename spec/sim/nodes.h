/* SPDX-License-Identifier: MIT */
/* nodes: the nodes of locks as the servers have them, and whose they are. */
#ifndef NODES_H
#define NODES_H

#include "host.h"
#include "recipe/verdict.h"
#include "tree.h"

#include "line/contender.h"

/* As a line's list shows it. Its name is the node's. */
zkl_child sim_node_child(const fake_node *node);
/* The host whose session has it. NULL: it is a stranger's. */
sim_host *sim_node_host(const fake_node *node);
/* That of the host's client. NULL: the client does not know the node. */
const zkl_contender *sim_node_contender(const sim_host *host, const char *path,
                                        const fake_node *node);

/* That of a lock at that place, with that token. NULL: there is none. */
const fake_node *sim_node_with(sim_place place, int64_t token);

/* The directories in which locks' nodes are, from 0 on: those of the places, the leases, the lines
 * of many. */
enum { SIM_LEASES = PLACES, SIM_DIRECTORIES_MOST = PLACES_MOST + 1 };
/* NULL: there are no more. */
const char *sim_node_directory(int i);

#endif
