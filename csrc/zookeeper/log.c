#include "zookeeper/log.h"

#include "zookeeper/trouble.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static zkl_list logs;
const char zkl_log_own[] = "warn";

/* The parent's logs are not the child's; and a thread that the child does not have may hold the
 * mutex. */
static void in_child(void) {
    logs = (zkl_list){0};
    pthread_mutex_init(&mutex, NULL);
}

static void prepare(void) {
    pthread_atfork(NULL, NULL, in_child);
}

void zkl_log_open(zkl_log *log, zkl_events *events, bool all) {
    memset(log, 0, sizeof *log);
    log->all = all;
    log->events = events;
    log->event.kind = ZKL_EVENT_LOG;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&mutex);
    zkl_list_append(&logs, &log->item);
    pthread_mutex_unlock(&mutex);
}

void zkl_log_close(zkl_log *log) {
    pthread_mutex_lock(&mutex);
    zkl_list_remove(&logs, &log->item);
    pthread_mutex_unlock(&mutex);
    zkl_events_drop(log->events, &log->event);
}

/* locked */
static void append(zkl_log *log, const char *level, const char *text) {
    if (log->count == ZKL_LOG_LINES) {
        log->first = (log->first + 1) % ZKL_LOG_LINES;
        log->count--;
    }
    const size_t i = (log->first + log->count++) % ZKL_LOG_LINES;
    log->lines[i].level = level;
    snprintf(log->lines[i].text, ZKL_LOG_LINE, "%s", text);
    zkl_events_post(log->events, &log->event, 0, 0);
}

bool zkl_log_next(zkl_log *log, const char **level, char *text, size_t size) {
    pthread_mutex_lock(&mutex);
    const bool any = log->count > 0;
    if (any) {
        *level = log->lines[log->first].level;
        snprintf(text, size, "%s", log->lines[log->first].text);
        log->first = (log->first + 1) % ZKL_LOG_LINES;
        log->count--;
    }
    pthread_mutex_unlock(&mutex);
    return any;
}

void zkl_log_warn(zkl_log *log, const char *format, ...) {
    if (!log)
        return;
    char text[ZKL_LOG_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&mutex);
    append(log, zkl_log_own, text);
    pthread_mutex_unlock(&mutex);
}

void zkl_log_library(const char *message) {
    const char *level = strstr(message, ":ZOO_ERROR@") ? "error" : "warn";
    zkl_trouble_note(message);
    pthread_once(&once, prepare);
    pthread_mutex_lock(&mutex);
    ZKL_EACH (zkl_log, log, &logs, item) {
        if (log->all)
            append(log, level, message);
    }
    pthread_mutex_unlock(&mutex);
}
