/* SPDX-License-Identifier: MIT */
/* The functions of a peer of the contest. worker.c makes them a program that is driven by lines. */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stdbool.h>

enum outcome { DONE, LATE, FAILED };

enum { FOR_EVER = -1 };

/* ---- each program has its own of these ---- */

/* Threads may share a client, each with locks of its own. */
extern const bool peer_is_shared;
/* Opens a client, or gives NULL after fail(). servers: as the harness wrote them; ttl: the milliseconds for which a
 * silent client keeps its locks; way: the variant, "-" if there is none. */
void *peer_open(const char *servers, long ttl, const char *way);
void peer_close(void *client);
/* The lock of that name; once for each name and client. NULL after fail(). */
void *peer_lock(void *client, const char *name);
/* Takes it within so many milliseconds, 0: one try. Gives a token that grows, or 0 if the peer has none. */
enum outcome peer_acquire(void *lock, long timeout, long long *token);
enum outcome peer_release(void *lock);
/* Whether it is held, as far as its user can find out: 1, 0, -1 if there is no way. */
int peer_held(void *lock);

/* ---- and all have these ---- */

/* Says what went wrong, for this thread; gives FAILED. */
enum outcome fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Something that the server sent woke a waiter. */
void woken(void);

/* Microseconds of a clock that nobody sets; all processes of the machine read the same. */
long long now_us(void);

/* When a timeout that begins now is over, in milliseconds of that clock; LLONG_MAX: never. */
long long deadline(long timeout);
long long now_ms(void);
void sleep_ms(long ms);

/* Waits for the condition, at most so many milliseconds; who calls looks again. False: nothing came. */
bool wait_ms(pthread_cond_t *change, pthread_mutex_t *mutex, long long ms);

/* A pause between two tries: random, 10 to 30 milliseconds, but not beyond the deadline. */
void pause_until(long long deadline);

/* A name that no other lock of any process has. */
void unique(char *text, unsigned size);

#endif
