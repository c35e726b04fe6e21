/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static unsigned generation;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool installed; /* makes the check cheap: each call makes it */

static void in_child(void) {
    generation++;
}

static void install(void) {
    pthread_atfork(NULL, NULL, in_child);
    installed = true;
}

unsigned zkl_process_generation(void) {
    if (!installed)
        pthread_once(&once, install);
    return generation;
}

void zkl_signals_block(sigset_t *before) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, before);
}

void zkl_signals_restore(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *ctx) {
    sigset_t before;
    zkl_signals_block(&before);
    const int rc = pthread_create(thread, NULL, run, ctx);
    zkl_signals_restore(&before);
    return rc == 0;
}

enum { ROOM_MOST = 4, GONE_TRIES = 10000 };

/* A thread that shows that there is room for it. */
typedef struct trial {
    pthread_mutex_t *gate; /* locked until all threads have begun */
    pthread_t thread;
    atomic_int id;
} trial;

static void *try_room(void *ctx) {
    trial *one = ctx;
    atomic_store(&one->id, gettid());
    pthread_mutex_lock(one->gate);
    pthread_mutex_unlock(one->gate);
    return NULL;
}

/* The kernel still counts a thread for a moment after it was joined. */
static void await_gone(int id) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d", id);
    for (int i = 0; i < GONE_TRIES && access(path, F_OK) == 0; i++)
        sched_yield();
}

bool zkl_process_has_room(int threads) {
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    trial trials[ROOM_MOST];
    int begun = 0;
    pthread_mutex_lock(&gate);
    for (; begun < threads && begun < ROOM_MOST; begun++) {
        trials[begun].gate = &gate;
        atomic_init(&trials[begun].id, 0);
        if (!zkl_thread_start(&trials[begun].thread, try_room, &trials[begun]))
            break;
    }
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < begun; i++) {
        pthread_join(trials[i].thread, NULL);
        await_gone(atomic_load(&trials[i].id));
    }
    return begun == threads;
}
