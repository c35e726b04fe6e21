/* SPDX-License-Identifier: MIT */
/* log: keeps lines of libzookeeper's log, our own, and those of a trace, until the host asks for
 * them. libzookeeper does not say which handle a line is about, so every log of the process gets
 * the line. */
#ifndef ZKL_LOG_H
#define ZKL_LOG_H

#include "base/event.h"

#define ZKL_LOG_LINE 512    /* bytes; longer lines are cut */
#define ZKL_LOG_LINES 64    /* kept lines; beyond that the oldest goes */
#define ZKL_LOG_TRACED 1024 /* the same of a trace, which has a ring of its own */

typedef struct zkl_log_line {
    uint64_t number; /* in the order of all lines of a log */
    const char *level;
    char text[ZKL_LOG_LINE];
} zkl_log_line;

typedef struct zkl_log_ring {
    zkl_log_line *lines;
    size_t size; /* 0: it takes none */
    size_t first, count;
    uint64_t dropped; /* before the first one, and not reported yet */
} zkl_log_ring;

typedef struct zkl_log {
    zkl_list_item item; /* in the list of all logs of the process */
    zkl_events *events;
    zkl_notice event;
    bool all; /* true: also libzookeeper's lines; false: only our own */
    uint64_t numbers;
    zkl_log_line lines[ZKL_LOG_LINES];
    zkl_log_ring warnings, trace;
} zkl_log;

/* From now on it receives lines; libzookeeper's only with `all`. Its lock is a leaf, except that it
 * takes the lock of `events`. */
void zkl_log_open(zkl_log *log, zkl_events *events, bool all);
void zkl_log_close(zkl_log *log);
/* From now on it also keeps the lines of a trace. false: no memory. */
bool zkl_log_keep_trace(zkl_log *log);
/* Takes the oldest line. Where lines of the trace are missing, it makes one that says how many. */
bool zkl_log_next(zkl_log *log, const char **level, char *text, size_t size);

/* The level of our own lines is this pointer. libzookeeper's levels are other pointers, whose text
 * may be the same. */
extern const char zkl_log_own[];
/* The same for the lines of a trace. */
extern const char zkl_log_traced[];

/* Adds a line of our own to one log; NULL: no log. */
void zkl_log_warn(zkl_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line to the trace of a log that keeps one. */
void zkl_log_trace(zkl_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* libzookeeper's log callback: any thread, for all clients. */
void zkl_log_library(const char *message);

#endif
