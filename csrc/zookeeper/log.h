/* SPDX-License-Identifier: MIT */
/* log: keeps lines of libzookeeper's log, our own, and those of a trace, until the host asks for
 * them. libzookeeper does not say which handle a line is about, so every log of the process gets
 * the line. A condition of our own that repeats is told once a minute at most. */
#ifndef ZKL_LOG_H
#define ZKL_LOG_H

#include "base/clock.h"
#include "base/event.h"
#include "zklock.h"

#include <stdatomic.h>

#define ZKL_LOG_LINE 512    /* bytes; longer lines are cut */
#define ZKL_LOG_LINES 64    /* kept lines; beyond that the oldest goes */
#define ZKL_LOG_TRACED 1024 /* the same of a trace, which has a ring of its own */
#define ZKL_LOG_CONDITIONS 16
#define ZKL_LOG_SUBJECT 128             /* bytes that tell two conditions apart */
#define ZKL_LOG_PAUSE (60 * ZKL_SECOND) /* between two lines about one condition */

typedef struct zkl_log_line {
    uint64_t number;   /* in the order of all lines of a log */
    const char *level; /* "error", "warn", "debug" */
    bool own;          /* false: libzookeeper's */
    char text[ZKL_LOG_LINE];
} zkl_log_line;

typedef struct zkl_log_ring {
    zkl_log_line *lines;
    size_t size; /* 0: it takes none */
    size_t first, count;
    uint64_t dropped; /* before the first one, and not reported yet */
} zkl_log_ring;

/* A condition that a line of our own reported. */
typedef struct zkl_log_condition {
    const char *format; /* NULL: this one is free */
    zkl_nanos told;     /* when a line was about it */
    unsigned times;     /* since then */
    const char *level;
    char subject[ZKL_LOG_SUBJECT];
    char text[ZKL_LOG_LINE]; /* the latest */
} zkl_log_condition;

typedef struct zkl_log {
    zkl_list_item item; /* in the list of all logs of the process */
    zkl_events *events;
    zkl_notice event;
    const zkl_clock *clock;
    bool all; /* true: also libzookeeper's lines; false: only our own */
    zkl_log_condition conditions[ZKL_LOG_CONDITIONS];
    _Atomic zkl_nanos due; /* when zkl_log_step has to tell one again; ZKL_NEVER: there is none */
    uint64_t numbers;
    zkl_log_line lines[ZKL_LOG_LINES];
    zkl_log_ring warnings, trace;
} zkl_log;

/* From now on it receives lines; libzookeeper's only with `all`. Its lock is a leaf, except that it
 * takes the lock of `events`. */
void zkl_log_open(zkl_log *log, zkl_events *events, const zkl_clock *clock, bool all);
void zkl_log_close(zkl_log *log);
/* From now on it also keeps the lines of a trace. false: no memory. */
bool zkl_log_keep_trace(zkl_log *log);
/* Takes the oldest line. Where lines of the trace are missing, it makes one that says how many. */
bool zkl_log_take_next(zkl_log *log, const char **level, bool *own, char *text, size_t size);

/* Adds a line of our own to one log; NULL: no log. `subject` and the format say which condition it
 * is about. If a line was about the same one less than a minute ago, the minute's end brings the
 * latest of these lines, with the number of times. NULL: it is about this moment alone. */
void zkl_log_warn(zkl_log *log, const char *subject, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for what an operator has to look at: losses, refused credentials. */
void zkl_log_error(zkl_log *log, const char *subject, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Tells the conditions whose minute is over, and that have repeated; NULL: no log. */
void zkl_log_step(zkl_log *log);

/* Adds a line to the trace of a log that keeps one. */
void zkl_log_trace(zkl_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* libzookeeper's log callback: any thread, for all clients. `reason`: what OpenSSL says, or
 * NULL. */
void zkl_log_library(const char *message, const char *reason);

#endif
