/* SPDX-License-Identifier: MIT */
/* machine: what a client's code stands on: its threads, its clock, names, memory. The functions of
 * csrc/base that make threads or ask the system are replaced here by events; what blocks there
 * lets the world go on until it need not block any more. */
#ifndef MACHINE_H
#define MACHINE_H

#include "sim.h"

#include "base/timer_thread.h"
#include "base/worker.h"

typedef struct sim_machine {
    int id;
    zkl_nanos stopped_until; /* nothing of it runs before */
    zkl_nanos cut_off_until; /* no connection of its is taken before */
    zkl_nanos distance;      /* of the servers: so long takes what is said, each way, at least */
    int drift;               /* its clock's, millionths */
    zkl_nanos shown;         /* by its clock at the latest look */
    bool no_names;           /* look-ups fail */
    zkl_nanos names_from;    /* a look-up takes until then */
    unsigned char era; /* the servers have moved to other addresses so often, for those who look */
} sim_machine;

/* Whose code runs; NULL: nobody's, the world's. */
extern sim_machine *sim_here;
/* Called whenever code of a machine has run. */
extern void (*sim_ran)(sim_machine *machine);

/* Is it stopped? Then the event comes again when it goes on. */
bool sim_is_stopped(const sim_machine *machine, sim_event *event);
/* Between these two its code runs. */
sim_machine *sim_enter(sim_machine *machine);
void sim_leave(sim_machine *before);

zkl_nanos sim_clock(const sim_machine *machine);

/* Pieces of memory that clients have now. */
size_t sim_pieces(void);
/* Threads of clients that have not ended. */
size_t sim_threads(void);
/* Has it a job, or is it at one? */
bool sim_is_at_work(const zkl_worker *worker);
/* Will the thread of those timers wake up? */
bool sim_is_to_wake(const zkl_timer_thread *timer_thread);

#endif
