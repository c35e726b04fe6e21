/* SPDX-License-Identifier: MIT */
/* floor: the least that libzookeeper and the servers take for what a burst of acquires asks them:
 * creates in transactions of 64, and one list for each lock. No lock logic, no Lua.
 *
 *   floor HOSTS COUNT ROUNDS     the directories /bench/go/1 to COUNT exist
 *
 * Prints, for each round, the seconds until everything was answered. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <zookeeper/zookeeper.h>

enum { BATCH = 64, PATH = 96, SESSION_MS = 30000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool connected;
static size_t unanswered;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void on_session(zhandle_t *zh, int type, int state, const char *path, void *context) {
    (void)zh, (void)type, (void)path, (void)context;
    pthread_mutex_lock(&mutex);
    connected = state == ZOO_CONNECTED_STATE;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void must(int rc, const char *what) {
    if (rc == ZOK)
        return;
    fprintf(stderr, "floor: %s: %s\n", what, zerror(rc));
    exit(1);
}

static void answered(int rc) {
    must(rc, "an answer");
    pthread_mutex_lock(&mutex);
    if (--unanswered == 0)
        pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void on_batch(int rc, const void *data) {
    (void)data;
    answered(rc);
}

static void on_list(int rc, const struct String_vector *names, const struct Stat *stat,
                    const void *data) {
    (void)names, (void)stat, (void)data;
    answered(rc);
}

static void await_connection(void) {
    pthread_mutex_lock(&mutex);
    while (!connected)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void await_answers(void) {
    pthread_mutex_lock(&mutex);
    while (unanswered)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}

typedef struct node {
    char directory[PATH], path[PATH], created[PATH];
} node;

static void create_batch(zhandle_t *zh, node *nodes, zoo_op_result_t *results, size_t count) {
    zoo_op_t ops[BATCH];
    for (size_t i = 0; i < count; i++)
        zoo_create_op_init(&ops[i], nodes[i].path, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                           ZOO_EPHEMERAL | ZOO_SEQUENCE, nodes[i].created, PATH);
    must(zoo_amulti(zh, (int)count, ops, results, on_batch, NULL), "creates");
    for (size_t i = 0; i < count; i++)
        must(zoo_aget_children2(zh, nodes[i].directory, 0, on_list, NULL), "a list");
}

static void delete_batch(zhandle_t *zh, const node *nodes, zoo_op_result_t *results, size_t count) {
    zoo_op_t ops[BATCH];
    for (size_t i = 0; i < count; i++)
        zoo_delete_op_init(&ops[i], nodes[i].created, -1);
    must(zoo_amulti(zh, (int)count, ops, results, on_batch, NULL), "deletes");
}

static size_t batch_at(size_t at, size_t count) {
    return count - at < BATCH ? count - at : BATCH;
}

static double run_round(zhandle_t *zh, node *nodes, zoo_op_result_t *results, size_t count) {
    const size_t batches = (count + BATCH - 1) / BATCH;
    const double begun = seconds();
    unanswered = count + batches;
    for (size_t at = 0; at < count; at += BATCH)
        create_batch(zh, nodes + at, results + at, batch_at(at, count));
    await_answers();
    const double took = seconds() - begun;
    unanswered = batches;
    for (size_t at = 0; at < count; at += BATCH)
        delete_batch(zh, nodes + at, results + at, batch_at(at, count));
    await_answers();
    return took;
}

int main(int argc, char **argv) {
    const size_t count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    const long rounds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    node *nodes = calloc(count, sizeof *nodes);
    zoo_op_result_t *results = calloc(count, sizeof *results);
    if (!count || rounds < 1 || !nodes || !results) {
        fputs("usage: floor HOSTS COUNT ROUNDS\n", stderr);
        return 64;
    }
    for (size_t i = 0; i < count; i++) {
        snprintf(nodes[i].directory, PATH, "/bench/go/%zu", i + 1);
        snprintf(nodes[i].path, PATH, "/bench/go/%zu/_c_0f0f0f0f-0f0f-4f0f-8f0f-%012zu-lock-",
                 i + 1, i);
    }
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zhandle_t *zh = zookeeper_init(argv[1], on_session, SESSION_MS, NULL, NULL, 0);
    if (!zh) {
        perror("floor: zookeeper_init");
        return 1;
    }
    await_connection();
    for (long i = 0; i < rounds; i++)
        printf("%.6f\n", run_round(zh, nodes, results, count));
    zookeeper_close(zh);
    free(results);
    free(nodes);
    return 0;
}
