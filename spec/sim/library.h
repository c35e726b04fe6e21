/* SPDX-License-Identifier: MIT */
/* library: what the world asks of the fake libzookeeper; what clients ask of it is zookeeper.h. */
#ifndef LIBRARY_H
#define LIBRARY_H

#include "machine.h"
#include "wire.h"

/* Closing a handle is in vain once in so many times: the servers do not hear of it; 0: never. */
extern unsigned sim_rude_closings;
/* Told of each request that a handle takes. */
extern void (*sim_submitted)(const sim_request *request);
/* ... and of each answer that it is about to tell. */
extern void (*sim_told)(const sim_request *request);
/* When a leader last answered one of that machine: a write or a sync was answered. 0: never. */
zkl_nanos sim_proven_at(const sim_machine *machine);
/* How many of each sort they have taken. */
extern uint64_t sim_asked[OP_PING];
/* Handles that are not closed. */
size_t sim_handles(void);
/* How many bytes the watches take of the handle with that context: 0 if it is closed, or finds no
 * server any more. */
size_t sim_watched_bytes(const void *ctx);
/* The same of those at paths that begin so. */
size_t sim_watched_below(const void *ctx, const char *path);
/* Watches that the machine's handles have at paths that begin so. */
size_t sim_listeners_below(const sim_machine *machine, const char *path);

#endif
