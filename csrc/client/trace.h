/* SPDX-License-Identifier: MIT */
/* trace: writes a line into a client's log for each change of a state (base/transitions.h), with
 * the seconds since the client was opened. docs/internals/tracing.md says how to read the lines. */
#ifndef ZKL_CLIENT_TRACE_H
#define ZKL_CLIENT_TRACE_H

#include "port/context.h"
#include "zookeeper/log.h"

typedef struct zkl_tracer {
    zkl_trace trace;
    zkl_log *log;
    const zkl_clock *clock;
    zkl_nanos opened;
} zkl_tracer;

/* Begins the trace of a client with this context. The log keeps it. false: no memory. */
bool zkl_tracer_begin(zkl_tracer *tracer, zkl_context *context, zkl_log *log);

#endif
