/* SPDX-License-Identifier: MIT */
/* sim: the world in which whole clients run: one clock, one list of what will happen, one source
 * of chance. Everything that is a thread, a wire or a machine elsewhere is an event here, and
 * events run one after the other, so that a seed is a history, and the same one each time. */
#ifndef SIM_H
#define SIM_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_MS (ZKL_SECOND / 1000)

extern zkl_nanos sim_now;

/* ---- what will happen ---- */

typedef struct sim_event sim_event;
struct sim_event {
    void (*run)(sim_event *event);
    zkl_nanos at;
    uint64_t order;
    size_t place; /* in the heap, counted from 1; 0: it is not to come */
};

/* It comes then, and not when it was said to before. */
void sim_at(sim_event *event, zkl_nanos at);
void sim_after(sim_event *event, zkl_nanos pause);
void sim_cancel(sim_event *event);
/* Lets the next event happen, and time pass until then. false: there is none before `until`, and it
 * is `until` now. */
bool sim_step(zkl_nanos until);
void sim_run(zkl_nanos until);

/* ---- chance ---- */

/* 0 to below - 1; `below` of 0 is taken for 1. */
unsigned sim_any(unsigned below);
bool sim_once_in(unsigned n);
/* A duration from 0 up to `most`. */
zkl_nanos sim_some(zkl_nanos most);
uint64_t sim_bits(void);
/* Chance goes on from here. */
void sim_seed(uint64_t seed);
uint64_t sim_chance(void); /* where it has come to: an argument for sim_seed */

/* ---- a history ---- */

typedef struct sim_count {
    uint64_t steps, faults, grants, sessions, losses;
} sim_count;
extern sim_count sim_counted;

extern bool sim_tracing;
void sim_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define SAY(...) (sim_tracing ? sim_tell(__VA_ARGS__) : (void)0)

/* Something that must never be has come to be: tells what, and ends the process. */
/* Called before the process ends for that reason. */
extern void (*sim_failing)(void);
_Noreturn void sim_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define SIM_CHECK(condition)                                                                       \
    ((condition) ? (void)0 : sim_fail("check failed: %s (%s:%d)", #condition, __FILE__, __LINE__))

/* Forgets all events: time, counts and chance begin anew. */
void sim_begin(uint64_t seed);
/* Frees what the events were kept in. */
void sim_end(void);

/* Memory for the world: never NULL. Not counted as the clients' (world/memory). */
void *sim_new(size_t size);
char *sim_copy(const char *text);

#endif
