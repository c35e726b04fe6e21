/* job: a thread for what blocks (looking names up, opening and closing handles), one thing after the other, so that
 * the timer_thread's timers never wait for it. */
#ifndef ZKL_WORKER_H
#define ZKL_WORKER_H

#include <pthread.h>
#include <stdbool.h>

typedef struct zkl_job zkl_job;

/* Lives inside what it is for, until it has run. */
struct zkl_job {
    zkl_job *next;
    void (*run)(zkl_job *job); /* worker thread, no lock held; may send itself again */
    bool queued;
};

typedef struct zkl_worker {
    pthread_mutex_t mutex; /* a leaf */
    pthread_cond_t more;
    zkl_job *first, **last;
    bool stopping;
    void (*ended)(void *ctx); /* the thread's last act */
    void *ctx;
} zkl_worker;

/* Starts the thread, which nobody joins: it ends after zkl_worker_stop, and calls `ended` when it touches `worker` no
 * more. false: no thread to be had. */
bool zkl_worker_start(zkl_worker *worker, void (*ended)(void *ctx), void *ctx);
/* What is queued already is not queued twice. */
void zkl_worker_send(zkl_worker *worker, zkl_job *job);
/* From an job: it is the last. */
void zkl_worker_stop(zkl_worker *worker);

#endif
