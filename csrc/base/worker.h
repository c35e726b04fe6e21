/* worker: a thread for jobs that block (looking names up, opening and closing handles), one after
 * the other, so that the timers never wait for them. */
#ifndef ZKL_WORKER_H
#define ZKL_WORKER_H

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>

/* Lives inside what it is for, and must have run before that is freed. */
typedef struct zkl_job zkl_job;
struct zkl_job {
    zkl_list_item item;
    void (*run)(zkl_job *job); /* worker thread, no lock held; may send itself again */
    bool queued;
};

typedef struct zkl_worker {
    pthread_mutex_t mutex; /* a leaf */
    pthread_cond_t more;
    zkl_list jobs;
    bool stopping;
    void (*ended)(void *ctx); /* what the thread does last */
    void *ctx;
} zkl_worker;

/* Starts the thread, which nobody joins: it ends after zkl_worker_stop, and calls `ended` when it
 * touches the worker no more. false: no thread to be had. */
bool zkl_worker_start(zkl_worker *worker, void (*ended)(void *ctx), void *ctx);
/* A job that is queued already is not queued twice. */
void zkl_worker_send(zkl_worker *worker, zkl_job *job);
/* From a job: it is the last. */
void zkl_worker_stop(zkl_worker *worker);

#endif
