/* SPDX-License-Identifier: MIT */
/* stage: what the recorder's sessions stand on: real servers (real.c), or the model of them that
 * the simulation has (model.c). Both are asked by libzookeeper's functions. */
#ifndef STAGE_H
#define STAGE_H

#include <stdbool.h>
#include <zookeeper/zookeeper.h>

/* `hosts`: where the real servers are. Three of them: the leader, a follower, and one that may be
 * held back. The model has as many as there are words; "strict": an exists needs READ. */
void stage_begin(const char *hosts);
void stage_end(void);
int stage_servers(void); /* 1 or 3 */
/* Where that one is. */
const char *stage_host(int server);
/* Nothing that the leader says reaches the third one, until it is let go. */
void stage_hold(bool held);
/* The calls that follow are that session's. */
void stage_as(int session);
/* Callbacks write between these two; the second wakes the one that waits. */
void stage_lock(void);
void stage_unlock(void);
/* Until then; false: it does not come to be. */
bool stage_wait(bool (*done)(void));
/* All connections to the servers break. */
void stage_cut(void);

#endif
