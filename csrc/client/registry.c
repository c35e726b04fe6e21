/* SPDX-License-Identifier: MIT */
#include "client/registry.h"

#include "base/clock.h"
#include "base/process.h"

#include <pthread.h>
#include <stdlib.h>

#define WAIT_AT_EXIT ZKL_SECOND

/* The parent's clients are not the child's. */
static struct registry {
    pthread_mutex_t mutex;
    zkl_list clients;
    bool is_ready; /* fewer is */
    pthread_cond_t fewer;
} * registry;
static pthread_once_t once = PTHREAD_ONCE_INIT;

__attribute__((constructor)) static void prepare(void) {
    registry = zkl_process_memory(sizeof *registry);
}

/* Clients cannot leave while the mutex is held. Closing one takes no lock that a leaving client
 * holds. */
static void at_exit(void) {
    const zkl_nanos until = zkl_clock_boot.now() + WAIT_AT_EXIT;
    pthread_mutex_lock(&registry->mutex);
    ZKL_EACH (zkl_registered, entry, &registry->clients, item) {
        entry->close(entry);
    }
    while (registry->clients.first &&
           zkl_clock_wait(&zkl_clock_boot, &registry->fewer, &registry->mutex, until))
        continue;
    pthread_mutex_unlock(&registry->mutex);
}

static void watch_exit(void) {
    atexit(at_exit);
}

void zkl_registry_enter(zkl_registered *entry) {
    pthread_once(&once, watch_exit);
    pthread_mutex_lock(&registry->mutex);
    if (!registry->is_ready)
        zkl_clock_cond_init(&registry->fewer);
    registry->is_ready = true;
    zkl_list_append(&registry->clients, &entry->item);
    pthread_mutex_unlock(&registry->mutex);
}

void zkl_registry_leave(zkl_registered *entry) {
    pthread_mutex_lock(&registry->mutex);
    zkl_list_remove(&registry->clients, &entry->item);
    pthread_cond_broadcast(&registry->fewer);
    pthread_mutex_unlock(&registry->mutex);
}
