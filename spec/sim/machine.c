/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include "base/descriptors.h"
#include "base/entropy.h"
#include "base/process.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

sim_machine *sim_here;
void (*sim_ran)(sim_machine *machine);

/* ---- whose code runs ---- */

bool sim_is_stopped(const sim_machine *machine, sim_event *event) {
    if (machine->stopped_until <= sim_now)
        return false;
    sim_at(event, machine->stopped_until + sim_some(SIM_MS));
    return true;
}

sim_machine *sim_enter(sim_machine *machine) {
    sim_machine *before = sim_here;
    sim_here = machine;
    return before;
}

void sim_leave(sim_machine *before) {
    sim_machine *machine = sim_here;
    if (sim_ran)
        sim_ran(machine);
    sim_here = before;
}

/* ---- the clock ---- */

/* In 128 bits: to divide first would let a clock that is slow go back once in a million
 * nanoseconds. */
static zkl_nanos stretched(zkl_nanos at, int millionths) {
    return at + (zkl_nanos)((__int128)at * millionths / 1000000);
}

zkl_nanos sim_clock(const sim_machine *machine) {
    return stretched(sim_now, machine->drift);
}

static zkl_nanos boot_now(void) {
    if (!sim_here)
        return sim_now;
    const zkl_nanos now = sim_clock(sim_here);
    SIM_CHECK(now >= sim_here->shown); /* a clock never goes back */
    return sim_here->shown = now;
}

/* When it is that late there; never too early. */
static zkl_nanos moment_of(const sim_machine *machine, zkl_nanos at) {
    zkl_nanos moment = (zkl_nanos)((double)at * 1e6 / (1e6 + machine->drift));
    while (stretched(moment, machine->drift) < at)
        moment += SIM_MS / 1000;
    return moment;
}

const zkl_clock __wrap_zkl_clock_boot;
const zkl_clock __wrap_zkl_clock_boot = {boot_now};

/* Whatever happens may be what is waited for. */
bool __wrap_zkl_clock_wait(const zkl_clock *clock, pthread_cond_t *cond, pthread_mutex_t *mutex,
                           zkl_nanos until);
bool __wrap_zkl_clock_wait(const zkl_clock *clock, pthread_cond_t *cond, pthread_mutex_t *mutex,
                           zkl_nanos until) {
    (void)cond;
    sim_machine *machine = sim_here;
    if (clock->now() >= until)
        return false;
    pthread_mutex_unlock(mutex);
    sim_here = NULL;
    sim_step(moment_of(machine, until));
    while (machine->stopped_until > sim_now)
        sim_step(machine->stopped_until);
    sim_here = machine;
    pthread_mutex_lock(mutex);
    return clock->now() < until;
}

/* The thread whose code runs does nothing until then; everything else goes on. */
static void block_until(zkl_nanos until) {
    sim_machine *machine = sim_here;
    sim_here = NULL;
    sim_run(until);
    while (machine && machine->stopped_until > sim_now)
        sim_step(machine->stopped_until);
    sim_here = machine;
}

int __wrap_nanosleep(const struct timespec *pause, struct timespec *left);
int __wrap_nanosleep(const struct timespec *pause, struct timespec *left) {
    (void)left;
    block_until(sim_now + pause->tv_sec * ZKL_SECOND + pause->tv_nsec);
    return 0;
}

/* ---- threads ---- */

/* Of clients that are closed, too: look-ups that hang keep theirs. */
enum { THREADS = 1024 };

typedef struct thread {
    sim_event event;
    sim_machine *machine;
    void *of;     /* the worker or timer_thread; NULL: it is free */
    bool is_busy; /* with a job that waits */
} thread;

static thread threads[THREADS];

static int start(void *of, void (*run)(sim_event *event)) {
    for (int i = 0; i < THREADS; i++)
        if (!threads[i].of) {
            threads[i] = (thread){.event = {.run = run}, .machine = sim_here, .of = of};
            return i;
        }
    sim_fail("there are %d threads: some never end", THREADS);
}

static void stop(thread *t) {
    sim_cancel(&t->event);
    t->of = NULL;
}

size_t sim_threads(void) {
    size_t n = 0;
    for (int i = 0; i < THREADS; i++)
        n += threads[i].of != NULL;
    return n;
}

static void run_timers(sim_event *event) {
    thread *t = ZKL_CONTAINER_OF(event, thread, event);
    zkl_timer_thread *timer_thread = t->of;
    if (sim_is_stopped(t->machine, event))
        return;
    sim_machine *before = sim_enter(t->machine);
    timer_thread->run(timer_thread->ctx);
    sim_leave(before);
}

bool zkl_timer_thread_start(zkl_timer_thread *timer_thread, void (*run)(void *ctx), void *ctx) {
    timer_thread->run = run;
    timer_thread->ctx = ctx;
    timer_thread->fd = start(timer_thread, run_timers);
    return true;
}

void zkl_timer_thread_wake_at(zkl_timer_thread *timer_thread, zkl_nanos at) {
    thread *t = &threads[timer_thread->fd];
    if (at == ZKL_NEVER)
        sim_cancel(&t->event);
    else
        sim_at(&t->event, moment_of(t->machine, at) + sim_some(SIM_MS / 10));
}

void zkl_timer_thread_stop(zkl_timer_thread *timer_thread) {
    stop(&threads[timer_thread->fd]);
}

bool sim_is_to_wake(const zkl_timer_thread *timer_thread) {
    return threads[timer_thread->fd].event.place != 0;
}

static thread *thread_of(const zkl_worker *worker) {
    for (int i = 0; i < THREADS; i++)
        if (threads[i].of == worker)
            return &threads[i];
    sim_fail("a worker that has ended gets a job");
}

static void end_worker(thread *t) {
    const zkl_worker *worker = t->of;
    void (*ended)(void *) = worker->ended;
    void *ctx = worker->ctx;
    stop(t);
    pthread_cond_destroy((pthread_cond_t *)&worker->more);
    pthread_mutex_destroy((pthread_mutex_t *)&worker->mutex);
    ended(ctx);
}

static void work(sim_event *event) {
    thread *t = ZKL_CONTAINER_OF(event, thread, event);
    zkl_worker *worker = t->of;
    if (t->is_busy || sim_is_stopped(t->machine, event))
        return; /* it looks for more when it is done */
    sim_machine *before = sim_enter(t->machine);
    zkl_job *job = ZKL_FIRST(&worker->jobs, zkl_job, item);
    if (job) {
        zkl_list_remove(&worker->jobs, &job->item);
        job->queued = false;
        t->is_busy = true;
        job->run(job);
        t->is_busy = false;
    }
    if (worker->stopping)
        end_worker(t);
    else if (worker->jobs.first)
        sim_after(&t->event, sim_some(SIM_MS));
    sim_leave(before);
}

bool zkl_worker_start(zkl_worker *worker, void (*ended)(void *ctx), void *ctx) {
    *worker = (zkl_worker){.ended = ended, .ctx = ctx};
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->more, NULL);
    start(worker, work);
    return true;
}

void zkl_worker_send(zkl_worker *worker, zkl_job *job) {
    if (job->queued)
        return;
    job->queued = true;
    zkl_list_append(&worker->jobs, &job->item);
    thread *t = thread_of(worker);
    if (!t->event.place)
        sim_after(&t->event, sim_some(sim_once_in(8) ? 20 * SIM_MS : SIM_MS / 2));
}

bool sim_is_at_work(const zkl_worker *worker) {
    return worker->jobs.first || thread_of(worker)->is_busy;
}

void zkl_worker_stop(zkl_worker *worker) {
    worker->stopping = true;
}

/* ---- the process ---- */

unsigned zkl_process_generation(void) {
    return 0;
}

/* Constructors ask before the machine begins. */
void *zkl_process_memory(size_t size) {
    static alignas(max_align_t) char memory[16384];
    static size_t used;
    void *part = memory + used;
    used += (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    assert(used <= sizeof memory);
    return part;
}

bool zkl_thread_start(pthread_t *t, void *(*run)(void *), void *ctx) {
    (void)t;
    (void)run;
    (void)ctx;
    return false; /* only the watchdog wants one, which is for TLS */
}

bool zkl_process_has_room(int wanted) {
    (void)wanted;
    return !sim_once_in(200);
}

void zkl_signals_block(sigset_t *before) {
    (void)before;
}

void zkl_signals_restore(const sigset_t *before) {
    (void)before;
}

/* There are no descriptors. */
void zkl_descriptors_each(void (*call)(int fd, void *ctx), void *ctx) {
    (void)call;
    (void)ctx;
}

zkl_descriptors *zkl_descriptors_pipes(void) {
    static char none;
    return (zkl_descriptors *)&none;
}

void zkl_descriptors_mark_new_pipes(zkl_descriptors *before) {
    (void)before;
}

void zkl_descriptors_mark_sockets(const struct sockaddr *server, socklen_t length) {
    (void)server;
    (void)length;
}

/* ---- entropy ---- */

bool zkl_entropy(void *bytes, size_t size) {
    for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
        const uint64_t bits = sim_bits();
        const size_t left = size - done;
        memcpy((char *)bytes + done, &bits, left < sizeof bits ? left : sizeof bits);
    }
    return true;
}

ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t size, unsigned flags) {
    (void)flags;
    zkl_entropy(bytes, size);
    return (ssize_t)size;
}

/* ---- names: zk1, zk2, ... are 10.0.0.1, 10.0.0.2, ...; later 10.0.1.1, ... ---- */

typedef struct found {
    struct addrinfo info;
    struct sockaddr_in address;
} found;

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **out);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                       struct addrinfo **out) {
    (void)hints;
    if (sim_here->names_from > sim_now)
        block_until(sim_here->names_from);
    if (sim_here->no_names)
        return sim_once_in(2) ? EAI_NONAME : EAI_AGAIN;
    found *f = sim_new(sizeof *f);
    f->address.sin_family = AF_INET;
    f->address.sin_addr.s_addr =
        htonl(0x0a000000U + (unsigned)sim_here->era * 256 + (unsigned)atoi(host + strlen("zk")));
    f->address.sin_port = htons((uint16_t)atoi(port));
    f->info.ai_family = AF_INET;
    f->info.ai_addr = (struct sockaddr *)&f->address;
    f->info.ai_addrlen = sizeof f->address;
    *out = &f->info;
    return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *info);
void __wrap_freeaddrinfo(struct addrinfo *info) {
    free((found *)info);
}
