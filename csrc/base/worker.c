/* SPDX-License-Identifier: MIT */
#include "base/worker.h"

#include "base/process.h"

static void *work(void *ctx) {
    zkl_worker *worker = ctx;
    pthread_mutex_lock(&worker->mutex);
    while (!worker->stopping) {
        zkl_job *job = ZKL_FIRST(&worker->jobs, zkl_job, item);
        if (!job) {
            pthread_cond_wait(&worker->more, &worker->mutex);
            continue;
        }
        zkl_list_remove(&worker->jobs, &job->item);
        job->queued = false;
        pthread_mutex_unlock(&worker->mutex);
        job->run(job);
        pthread_mutex_lock(&worker->mutex);
    }
    pthread_mutex_unlock(&worker->mutex);
    pthread_cond_destroy(&worker->more);
    pthread_mutex_destroy(&worker->mutex);
    worker->ended(worker->ctx);
    return NULL;
}

bool zkl_worker_start(zkl_worker *worker, void (*ended)(void *ctx), void *ctx) {
    *worker = (zkl_worker){.ended = ended, .ctx = ctx};
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->more, NULL);
    pthread_t thread;
    if (!zkl_thread_start(&thread, work, worker)) {
        pthread_cond_destroy(&worker->more);
        pthread_mutex_destroy(&worker->mutex);
        return false;
    }
    pthread_detach(thread);
    return true;
}

void zkl_worker_send(zkl_worker *worker, zkl_job *job) {
    pthread_mutex_lock(&worker->mutex);
    if (!job->queued) {
        job->queued = true;
        zkl_list_append(&worker->jobs, &job->item);
        pthread_cond_signal(&worker->more);
    }
    pthread_mutex_unlock(&worker->mutex);
}

void zkl_worker_stop(zkl_worker *worker) {
    pthread_mutex_lock(&worker->mutex);
    worker->stopping = true;
    pthread_mutex_unlock(&worker->mutex);
}
