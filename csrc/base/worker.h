/* errand: a thread for what blocks (looking names up, opening and closing handles), one thing after the other, so that
 * the keeper's timers never wait for it. */
#ifndef ZKL_ERRAND_H
#define ZKL_ERRAND_H

#include <pthread.h>
#include <stdbool.h>

typedef struct zkl_errand zkl_errand;

/* Lives inside what it is for, until it has run. */
struct zkl_errand {
    zkl_errand *next;
    void (*run)(zkl_errand *errand); /* errand thread, no lock held; may send itself again */
    bool queued;
};

typedef struct zkl_errands {
    pthread_mutex_t mutex; /* a leaf */
    pthread_cond_t more;
    zkl_errand *first, **last;
    bool stopping;
    void (*ended)(void *ctx); /* the thread's last act */
    void *ctx;
} zkl_errands;

/* Starts the thread, which nobody joins: it ends after zkl_errands_stop, and calls `ended` when it touches `errands` no
 * more. false: no thread to be had. */
bool zkl_errands_start(zkl_errands *errands, void (*ended)(void *ctx), void *ctx);
/* What is queued already is not queued twice. */
void zkl_errand_send(zkl_errands *errands, zkl_errand *errand);
/* From an errand: it is the last. */
void zkl_errands_stop(zkl_errands *errands);

#endif
