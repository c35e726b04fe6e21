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

__attribute__((constructor)) static void prepare(void) {
    logs = zkl_process_memory(sizeof *logs);
}

void zkl_log_open(zkl_log *log, zkl_events *events, const zkl_clock *clock, bool all) {
    memset(log, 0, sizeof *log);
    log->all = all;
    log->events = events;
    log->clock = clock;
    log->due = ZKL_NEVER;
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
static void append(zkl_log *log, const char *level, bool own, const char *text) {
    zkl_log_ring *ring = strcmp(level, "debug") == 0 ? &log->trace : &log->warnings;
    if (ring->count == ring->size) {
        remove_first(ring);
        ring->dropped++;
    }
    zkl_log_line *line = &ring->lines[(ring->first + ring->count++) % ring->size];
    line->number = ++log->numbers;
    line->level = level;
    line->own = own;
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

bool zkl_log_take_next(zkl_log *log, const char **level, bool *own, char *text, size_t size) {
    pthread_mutex_lock(&logs->mutex);
    zkl_log_ring *ring = oldest(log);
    if (ring) {
        const zkl_log_line *line = &ring->lines[ring->first];
        *level = line->level;
        *own = line->own;
        snprintf(text, size, "%s", line->text);
    }
    if (ring && ring == &log->trace && ring->dropped) {
        snprintf(text, size, "%" PRIu64 " lines are missing: nobody took them in time",
                 ring->dropped);
        ring->dropped = 0;
    } else if (ring) {
        remove_first(ring);
    }
    pthread_mutex_unlock(&logs->mutex);
    return ring != NULL;
}

/* ---- conditions that repeat ---- */

/* locked */
static void tell(zkl_log *log, zkl_log_condition *condition, zkl_nanos now) {
    char text[ZKL_LOG_LINE + 64];
    snprintf(text, sizeof text, "%.*s (%u times in %.0f s)", ZKL_LOG_LINE - 64, condition->text,
             condition->times, zkl_clock_seconds(now - condition->told));
    append(log, condition->level, true, text);
    condition->told = now;
    condition->times = 0;
}

/* locked. Forgets those that have not repeated for a minute. */
static void tell_due(zkl_log *log, zkl_nanos now) {
    zkl_nanos due = ZKL_NEVER;
    for (size_t i = 0; i < ZKL_LOG_CONDITIONS; i++) {
        zkl_log_condition *condition = &log->conditions[i];
        if (!condition->format)
            continue;
        if (condition->told + ZKL_LOG_PAUSE <= now) {
            if (condition->times)
                tell(log, condition, now);
            else
                condition->format = NULL;
        }
        if (condition->times && condition->told + ZKL_LOG_PAUSE < due)
            due = condition->told + ZKL_LOG_PAUSE;
    }
    log->due = due;
}

/* locked. The one that this line is about; else a free one; else the one that was told longest ago,
 * with what it still has to tell. */
static zkl_log_condition *make_room(zkl_log *log, const zkl_log_condition *latest) {
    zkl_log_condition *place = &log->conditions[0];
    for (size_t i = 0; i < ZKL_LOG_CONDITIONS; i++) {
        zkl_log_condition *one = &log->conditions[i];
        if (one->format == latest->format && strcmp(one->subject, latest->subject) == 0)
            return one;
        if (place->format && (!one->format || one->told < place->told))
            place = one;
    }
    if (place->format && place->times)
        tell(log, place, latest->told);
    place->format = NULL;
    return place;
}

/* locked */
static void happened(zkl_log *log, const zkl_log_condition *latest) {
    tell_due(log, latest->told);
    zkl_log_condition *condition = make_room(log, latest);
    if (!condition->format) {
        *condition = *latest;
        append(log, latest->level, true, latest->text);
        return;
    }
    condition->times++;
    memcpy(condition->text, latest->text, sizeof condition->text);
    if (condition->told + ZKL_LOG_PAUSE < log->due)
        log->due = condition->told + ZKL_LOG_PAUSE;
}

static void say(zkl_log *log, const char *level, const char *subject, const char *format,
                va_list args) {
    zkl_log_condition latest = {.format = format, .told = log->clock->now(), .level = level};
    vsnprintf(latest.text, sizeof latest.text, format, args);
    snprintf(latest.subject, sizeof latest.subject, "%s", subject ? subject : "");
    pthread_mutex_lock(&logs->mutex);
    if (subject)
        happened(log, &latest);
    else
        append(log, level, true, latest.text);
    pthread_mutex_unlock(&logs->mutex);
}

void zkl_log_warn(zkl_log *log, const char *subject, const char *format, ...) {
    if (!log)
        return;
    va_list args;
    va_start(args, format);
    say(log, "warn", subject, format, args);
    va_end(args);
}

void zkl_log_error(zkl_log *log, const char *subject, const char *format, ...) {
    if (!log)
        return;
    va_list args;
    va_start(args, format);
    say(log, "error", subject, format, args);
    va_end(args);
}

void zkl_log_step(zkl_log *log) {
    if (!log || log->due == ZKL_NEVER)
        return;
    const zkl_nanos now = log->clock->now();
    if (now < log->due)
        return;
    pthread_mutex_lock(&logs->mutex);
    tell_due(log, now);
    pthread_mutex_unlock(&logs->mutex);
}

/* ---- other lines ---- */

void zkl_log_trace(zkl_log *log, const char *format, ...) {
    char text[ZKL_LOG_LINE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&logs->mutex);
    append(log, "debug", true, text);
    pthread_mutex_unlock(&logs->mutex);
}

void zkl_log_library(const char *message, const char *reason) {
    const char *level = strstr(message, ":ZOO_ERROR@") ? "error" : "warn";
    char text[ZKL_LOG_LINE];
    zkl_trouble_note(message, reason);
    snprintf(text, sizeof text, "%s%s%s", message, reason ? ": " : "", reason ? reason : "");
    pthread_mutex_lock(&logs->mutex);
    ZKL_EACH (zkl_log, log, &logs->all, item) {
        if (log->all)
            append(log, level, false, text);
    }
    pthread_mutex_unlock(&logs->mutex);
}
