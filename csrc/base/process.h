/* SPDX-License-Identifier: MIT */
/* process: tells this process from the one that it was forked from, and starts threads. */
#ifndef ZKL_PROCESS_H
#define ZKL_PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Memory that lives as long as the process. It is zero at first, and zero again in a forked child:
 * a mutex in it is unlocked there, a list empty. Since Linux 4.14 that is so in every child that
 * has memory of its own, also in one of _Fork or of a bare clone. Before, and in a qemu that
 * ignores advice about memory, only in one of fork. A child of vfork shares it. Never NULL. Only
 * for constructors. */
void *zkl_process_memory(size_t size);

/* A number that differs in every forked child, as above. */
unsigned zkl_process_generation(void);

/* Starts a thread with all signals blocked: they belong to the host. Except those that report a
 * fault of the thread itself: for a blocked one, the kernel would end the process without the
 * host's handler, and nobody would see where the fault was. */
bool zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *ctx);

/* True if so many threads (at most 4) could be started now. For libraries that abort if they cannot
 * start theirs. */
bool zkl_process_has_room(int threads);

/* Blocks the same signals in this thread, so that threads which a library starts meanwhile inherit
 * the mask. */
void zkl_signals_block(sigset_t *before);
void zkl_signals_restore(const sigset_t *before);

#endif
