#include "base/worker.h"

#include "base/process.h"

static void *work(void *ctx) {
    zkl_errands *errands = ctx;
    pthread_mutex_lock(&errands->mutex);
    while (!errands->stopping) {
        zkl_errand *errand = errands->first;
        if (!errand) {
            pthread_cond_wait(&errands->more, &errands->mutex);
            continue;
        }
        errands->first = errand->next;
        if (!errands->first)
            errands->last = &errands->first;
        errand->queued = false;
        pthread_mutex_unlock(&errands->mutex);
        errand->run(errand);
        pthread_mutex_lock(&errands->mutex);
    }
    pthread_mutex_unlock(&errands->mutex);
    pthread_cond_destroy(&errands->more);
    pthread_mutex_destroy(&errands->mutex);
    errands->ended(errands->ctx);
    return NULL;
}

bool zkl_errands_start(zkl_errands *errands, void (*ended)(void *ctx), void *ctx) {
    *errands = (zkl_errands){.last = &errands->first, .ended = ended, .ctx = ctx};
    pthread_mutex_init(&errands->mutex, NULL);
    pthread_cond_init(&errands->more, NULL);
    pthread_t thread;
    if (!zkl_thread_start(&thread, work, errands)) {
        pthread_cond_destroy(&errands->more);
        pthread_mutex_destroy(&errands->mutex);
        return false;
    }
    pthread_detach(thread);
    return true;
}

void zkl_errand_send(zkl_errands *errands, zkl_errand *errand) {
    pthread_mutex_lock(&errands->mutex);
    if (!errand->queued) {
        errand->queued = true;
        errand->next = NULL;
        *errands->last = errand;
        errands->last = &errand->next;
        pthread_cond_signal(&errands->more);
    }
    pthread_mutex_unlock(&errands->mutex);
}

void zkl_errands_stop(zkl_errands *errands) {
    pthread_mutex_lock(&errands->mutex);
    errands->stopping = true;
    pthread_mutex_unlock(&errands->mutex);
}
