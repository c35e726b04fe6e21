#include "base/process.h"

static unsigned generation;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void) {
    generation++;
}

static void install(void) {
    pthread_atfork(NULL, NULL, in_child);
}

unsigned zkl_process_generation(void) {
    pthread_once(&once, install);
    return generation;
}

void zkl_signals_block(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
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
