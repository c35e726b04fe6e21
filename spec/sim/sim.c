/* SPDX-License-Identifier: MIT */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* CLOCK_BOOTTIME of a machine that has been up for a while. */
#define BEGINNING (1000 * ZKL_SECOND)

zkl_nanos sim_now;
sim_count sim_counted;
bool sim_tracing;
void (*sim_failing)(void);

/* Beside the pointer, so that comparing touches one piece of memory. */
typedef struct entry {
    zkl_nanos at;
    uint64_t order;
    sim_event *event;
} entry;

static entry *heap; /* from 1 on */
static size_t count, room;
static uint64_t orders, chance;

/* ---- the heap ---- */

static bool before(const entry *a, const entry *b) {
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void put(size_t place, entry e) {
    heap[place] = e;
    e.event->place = place;
}

static void sift_up(size_t place, entry e) {
    while (place > 1 && before(&e, &heap[place / 2])) {
        put(place, heap[place / 2]);
        place /= 2;
    }
    put(place, e);
}

static void sift_down(size_t place, entry e) {
    for (size_t child; (child = 2 * place) <= count; place = child) {
        child += child < count && before(&heap[child + 1], &heap[child]);
        if (!before(&heap[child], &e))
            break;
        put(place, heap[child]);
    }
    put(place, e);
}

void sim_cancel(sim_event *event) {
    const size_t place = event->place;
    if (!place)
        return;
    event->place = 0;
    const entry last = heap[count--];
    if (last.event == event)
        return;
    if (place > 1 && before(&last, &heap[place / 2]))
        sift_up(place, last);
    else
        sift_down(place, last);
}

void sim_at(sim_event *event, zkl_nanos at) {
    sim_cancel(event);
    if (count + 1 >= room) {
        room = room ? 2 * room : 256;
        heap = realloc(heap, room * sizeof *heap);
        SIM_CHECK(heap != NULL);
    }
    event->at = at < sim_now ? sim_now : at;
    event->order = ++orders;
    sift_up(++count, (entry){event->at, event->order, event});
}

void sim_after(sim_event *event, zkl_nanos pause) {
    sim_at(event, sim_now + pause);
}

bool sim_step(zkl_nanos until) {
    if (!count || heap[1].at > until) {
        if (sim_now < until)
            sim_now = until;
        return false;
    }
    sim_event *event = heap[1].event;
    if (sim_now < event->at)
        sim_now = event->at;
    sim_cancel(event);
    sim_counted.steps++;
    event->run(event);
    return true;
}

void sim_run(zkl_nanos until) {
    while (sim_step(until))
        continue;
}

/* ---- chance ---- */

uint64_t sim_bits(void) {
    uint64_t z = chance += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

unsigned sim_any(unsigned below) {
    return below > 1 ? (unsigned)((sim_bits() >> 32) * below >> 32) : 0;
}

bool sim_once_in(unsigned n) {
    return sim_any(n) == 0;
}

zkl_nanos sim_some(zkl_nanos most) {
    return most > 0 ? (zkl_nanos)(sim_bits() % (uint64_t)(most + 1)) : 0;
}

void sim_seed(uint64_t seed) {
    chance = seed;
}

uint64_t sim_chance(void) {
    return chance;
}

/* ---- a history ---- */

static void print(const char *format, va_list args) {
    printf("%11.6f  ", (double)(sim_now - BEGINNING) / (double)ZKL_SECOND);
    vprintf(format, args);
    putchar('\n');
}

void sim_tell(const char *format, ...) {
    va_list args;
    va_start(args, format);
    print(format, args);
    va_end(args);
}

void sim_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    print(format, args);
    va_end(args);
    fflush(stdout);
    void (*failing)(void) = sim_failing;
    sim_failing = NULL; /* it may fail, too */
    if (failing)
        failing();
    _exit(1);
}

void sim_begin(uint64_t seed) {
    count = 0;
    orders = 0;
    chance = seed;
    sim_now = BEGINNING;
    sim_counted = (sim_count){0};
}

void sim_end(void) {
    free(heap);
    heap = NULL;
    count = room = 0;
}

void *sim_new(size_t size) {
    void *memory = calloc(1, size);
    SIM_CHECK(memory != NULL);
    return memory;
}

char *sim_copy(const char *text) {
    char *c = strdup(text);
    SIM_CHECK(c != NULL);
    return c;
}
