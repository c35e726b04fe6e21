/* SPDX-License-Identifier: MIT */
#include "zookeeper/log.h"

#include "base/process.h"
#include "zookeeper/trouble.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A child must not use the parent's logs. */
static struct logs {
    pthread_mutex_t mutex;
    zkl_list all;
} * logs;
const char zkl_log_own[] = "warn";
const char zkl_log_traced[] = "debug";

__attribute__((constructor)) static void prepare(void) {
    logs = zkl_process_memory(sizeof *logs);
}

void zkl_log_open(zkl_log *log, zkl_events *events, bool all) {
    memset(log, 0, sizeof *log);
    log->all = all;
    log->events = events;
    log->event.kind = ZKL_EVENT_LOG;
    log->warnings = (zkl_log_ring){.lines = log->lines, .size = ZKL_LOG_LINES};
    pthread_mutex_lock(&logs->mutex);
    zkl_list_append(&logs->all, &log->item);
    pthread_mutex_unlock(&logs->mutex);
}

void zkl_log_close(zkl_log *log) {
    pthread_mutex_lock(&logs->mutex);
    zkl_list_remove(&logs->all, &log->item);
    pthread_mutex_unlock(&logs->mutex);
    zkl_events_drop(log->events, &log->event);
    free(log->trace.lines);
}

bool zkl_log_keep_trace(zkl_log *log) {
    zkl_log_line *lines = calloc(ZKL_LOG_TRACED, sizeof *lines);
    if (!lines)
        return false;
    pthread_mutex_lock(&logs->mutex);
    log->trace = (zkl_log_ring){.lines = lines, .size = ZKL_LOG_TRACED};
    pthread_mutex_unlock(&logs->mutex);
    return true;
}

/* locked */
static void remove_first(zkl_log_ring *ring) {
    ring->first = (ring->first + 1) % ring->size;
    ring->count--;
}

/* locked */
static void append(zkl_log *log, zkl_log_ring *ring, const char *level, const char *text) {
    if (ring->count == ring->size) {
        remove_first(ring);
        ring->dropped++;
    }
    zkl_log_line *line = &ring->lines[(ring->first + ring->count++) % ring->size];
    line->number = ++log->numbers;
    line->level = level;
    snprintf(line->text, sizeof line->text, "%s", text);
    zkl_events_post(log->events, &log->event, 0, 0);
}

/* locked. The ring with the oldest line; NULL: there is no line. */
static zkl_log_ring *oldest(zkl_log *log) {
    zkl_log_ring *a = &log->warnings, *b = &log->trace;
    if (!b->count)
        return a->count ? a : NULL;
    return a->count && a->lines[a->first].number < b->lines[b->first].number ? a : b;
}

bool zkl_log_next(zkl_log *log, const char **level, char *text, size_t size) {
    pthread_mutex_lock(&logs->mutex);
    zkl_log_ring *ring = oldest(log);
    if (ring && ring == &log->trace && ring->dropped) {
        *level = zkl_log_traced;
        snprintf(text, size, "%" PRIu64 " lines are missing: nobody took them in time",
                 ring->dropped);
        ring->dropped = 0;
    } else if (ring) {
        *level = ring->lines[ring->first].level;
        snprintf(text, size, "%s", ring->lines[ring->first].text);
        remove_first(ring);
    }
    pthread_mutex_unlock(&logs->mutex);
    return ring != NULL;
}

void zkl_log_warn(zkl_log *log, const char *format, ...) {
    if (!log)
        return;
    char text[ZKL_LOG_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&logs->mutex);
    append(log, &log->warnings, zkl_log_own, text);
    pthread_mutex_unlock(&logs->mutex);
}

void zkl_log_trace(zkl_log *log, const char *format, ...) {
    char text[ZKL_LOG_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&logs->mutex);
    append(log, &log->trace, zkl_log_traced, text);
    pthread_mutex_unlock(&logs->mutex);
}

void zkl_log_library(const char *message) {
    const char *level = strstr(message, ":ZOO_ERROR@") ? "error" : "warn";
    zkl_trouble_note(message);
    pthread_mutex_lock(&logs->mutex);
    ZKL_EACH (zkl_log, log, &logs->all, item) {
        if (log->all)
            append(log, &log->warnings, level, message);
    }
    pthread_mutex_unlock(&logs->mutex);
}
