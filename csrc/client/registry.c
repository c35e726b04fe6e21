#include "client/registry.h"

#include "base/process.h"

#include <pthread.h>
#include <stdlib.h>

#define WAIT_AT_EXIT ZKL_SECOND

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fewer;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static zkl_registered *all;

/* Clients cannot leave while the mutex is held, and closing takes no lock that a leaving one holds. */
static void at_exit(void) {
    const zkl_nanos until = zkl_clock_boot.now() + WAIT_AT_EXIT;
    pthread_mutex_lock(&mutex);
    for (zkl_registered *entry = all; entry; entry = entry->next)
        zkl_close(entry->client);
    while (all && zkl_clock_wait(&zkl_clock_boot, &fewer, &mutex, until))
        continue;
    pthread_mutex_unlock(&mutex);
}

/* What the parent had open is none of the child's; and a thread that the child does not have may hold the mutex. */
static void in_child(void) {
    all = NULL;
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
