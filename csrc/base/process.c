/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include <assert.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMORY = 16384 };

/* Where the kernel wipes nothing, this is the memory. */
static alignas(max_align_t) char spare[MEMORY];
static char *memory;
static size_t used;

static void in_child(void) {
    memset(spare, 0, used);
}

/* NULL: the kernel cannot wipe it. A qemu that ignores all advice accepts -1, too. */
static void *map_wiped(void) {
    void *map = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (madvise(map, MEMORY, -1) != 0 && madvise(map, MEMORY, MADV_WIPEONFORK) == 0)
        return map;
    munmap(map, MEMORY);
    return NULL;
}

void *zkl_process_memory(size_t size) {
    if (!memory) {
        memory = map_wiped();
        if (!memory) {
            memory = spare;
            pthread_atfork(NULL, NULL, in_child);
        }
    }
    void *part = memory + used;
    used += (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    assert(used <= MEMORY);
    return part;
}

static atomic_uint *generation; /* 0: this process has none yet */
static atomic_uint latest;      /* of this process and those that it was forked from */

__attribute__((constructor)) static void prepare(void) {
    generation = zkl_process_memory(sizeof *generation);
}

/* Each call of the host asks. */
unsigned zkl_process_generation(void) {
    unsigned known = atomic_load(generation);
    if (known)
        return known;
    const unsigned mine = atomic_fetch_add(&latest, 1) + 1;
    /* another thread may have been first */
    return atomic_compare_exchange_strong(generation, &known, mine) ? mine : known;
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
