/* SPDX-License-Identifier: MIT */
#include "client/registry.h"

#include "base/clock.h"
#include "base/process.h"

#include <pthread.h>
#include <stdlib.h>

#define WAIT_AT_EXIT ZKL_SECOND

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fewer;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static zkl_list all;

/* Clients cannot leave while the mutex is held. Closing one takes no lock that a leaving client
 * holds. */
static void at_exit(void) {
    const zkl_nanos until = zkl_clock_boot.now() + WAIT_AT_EXIT;
    pthread_mutex_lock(&mutex);
    ZKL_EACH (zkl_registered, entry, &all, item) {
        entry->close(entry);
    }
    while (all.first && zkl_clock_wait(&zkl_clock_boot, &fewer, &mutex, until))
        continue;
    pthread_mutex_unlock(&mutex);
}

/* The parent's clients are not the child's, and a thread that the child does not have may hold the
 * mutex. */
static void in_child(void) {
    all = (zkl_list){0};
    pthread_mutex_init(&mutex, NULL);
    zkl_clock_cond_init(&fewer);
}

static void prepare(void) {
    zkl_clock_cond_init(&fewer);
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
}

void zkl_registry_enter(zkl_registered *entry) {
    pthread_once(&once, prepare);
    pthread_mutex_lock(&mutex);
    zkl_list_append(&all, &entry->item);
    pthread_mutex_unlock(&mutex);
}

void zkl_registry_leave(zkl_registered *entry) {
    pthread_mutex_lock(&mutex);
    zkl_list_remove(&all, &entry->item);
    pthread_cond_broadcast(&fewer);
    pthread_mutex_unlock(&mutex);
}
