/* SPDX-License-Identifier: MIT */
/* worker: a thread for jobs that block (looking up names, opening and closing handles). It runs one
 * job after the other, so timers never wait for them. */
#ifndef ZKL_WORKER_H
#define ZKL_WORKER_H

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>

/* Part of the object that it serves. It must have run before that object is freed. */
typedef struct zkl_job zkl_job;
struct zkl_job {
    zkl_list_item item;
    /* on the worker thread, with no lock held; the job may send itself again */
    void (*run)(zkl_job *job);
    bool queued;
};

typedef struct zkl_worker {
    pthread_mutex_t mutex; /* a leaf */
    pthread_cond_t more;
    zkl_list jobs;
    bool stopping;
    void (*ended)(void *ctx); /* the last call that the thread makes */
    void *ctx;
} zkl_worker;

/* Starts the thread, which nobody joins: it ends after zkl_worker_stop, and calls `ended` when it
 * no longer uses the worker. false: no thread left. */
bool zkl_worker_start(zkl_worker *worker, void (*ended)(void *ctx), void *ctx);
/* Queues a job, unless it is queued. */
void zkl_worker_send(zkl_worker *worker, zkl_job *job);
/* Called from a job, which is then the last one. */
void zkl_worker_stop(zkl_worker *worker);

#endif
