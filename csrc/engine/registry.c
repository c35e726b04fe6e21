#include "registry.h"

#include "process.h"

#include <stdlib.h>
#include <time.h>

#define WAIT_AT_EXIT 1 /* seconds */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fewer;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static zkl_registered *all;
static unsigned generation; /* of the process that `all` speaks of */

/* Clients cannot leave while the mutex is held, and closing takes no lock that a leaving one holds. */
static void at_exit(void) {
    if (generation != zkl_process_generation())
        return; /* a forked child: the sessions are its parent's */
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_AT_EXIT;
    pthread_mutex_lock(&mutex);
    for (zkl_registered *entry = all; entry; entry = entry->next)
        zkl_close(entry->client);
    while (all && pthread_cond_timedwait(&fewer, &mutex, &until) == 0)
        continue;
    pthread_mutex_unlock(&mutex);
}

static void prepare(void) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&fewer, &attr);
    pthread_condattr_destroy(&attr);
    atexit(at_exit);
}

void zkl_registry_enter(zkl_registered *entry) {
    pthread_once(&once, prepare);
    pthread_mutex_lock(&mutex);
    if (generation != entry->generation) {
        generation = entry->generation;
        all = NULL; /* what the parent had open is none of ours */
    }
    entry->prev = NULL;
    entry->next = all;
    if (all)
        all->prev = entry;
    all = entry;
    pthread_mutex_unlock(&mutex);
}

void zkl_registry_leave(zkl_registered *entry) {
    pthread_mutex_lock(&mutex);
    *(entry->prev ? &entry->prev->next : &all) = entry->next;
    if (entry->next)
        entry->next->prev = entry->prev;
    pthread_cond_broadcast(&fewer);
    pthread_mutex_unlock(&mutex);
}
