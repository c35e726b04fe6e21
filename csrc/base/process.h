/* process: which process this is, and how our threads are born. */
#ifndef ZKL_PROCESS_H
#define ZKL_PROCESS_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* A number that is another one in every forked child. */
unsigned zkl_process_generation(void);

/* Starts a thread with all signals blocked: they belong to the host. Not those by which a thread
 * hears of a fault of its own: the kernel would end the process without the host's handler, and
 * nobody would see where. */
bool zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *ctx);

/* Could so many threads (4 at most) be started now? For somebody else's library, which aborts when
 * they cannot. */
bool zkl_process_has_room(int threads);

/* Blocks those signals in this thread while somebody else's library makes threads that inherit
 * the mask. */
void zkl_signals_block(sigset_t *before);
void zkl_signals_restore(const sigset_t *before);

#endif
