/* log: lines of libzookeeper's and our own, kept until the host asks. libzookeeper does not say
 * which handle a line is about, so every log of the process gets it. */
#ifndef ZKL_LOG_H
#define ZKL_LOG_H

#include "base/event.h"

#define ZKL_LOG_LINE 512 /* bytes, the rest of a line is cut off */
#define ZKL_LOG_LINES 64 /* kept; beyond that the oldest goes */

typedef struct zkl_log {
    zkl_list_item item; /* all logs of the process */
    zkl_events *events;
    zkl_event event;
    bool all; /* libzookeeper's lines, too; else only our own */
    struct {
        const char *level;
        char text[ZKL_LOG_LINE];
    } lines[ZKL_LOG_LINES];
    size_t first, count;
} zkl_log;

/* From now on it receives lines; of libzookeeper's only with `all`. Its lock is a leaf but for that
 * of `events`. */
void zkl_log_open(zkl_log *log, zkl_events *events, bool all);
void zkl_log_close(zkl_log *log);
bool zkl_log_next(zkl_log *log, const char **level, char *text, size_t size);

/* The level of our own lines is this very text; libzookeeper's have another one that may read the
 * same. */
extern const char zkl_log_own[];

/* One line of our own, to one log (NULL: nobody listens). */
void zkl_log_warn(zkl_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* libzookeeper's log callback: any thread, no client. */
void zkl_log_library(const char *message);

#endif
