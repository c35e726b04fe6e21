/* SPDX-License-Identifier: MIT */
#include "client/trace.h"

#include "base/clock.h"
#include "base/list.h"
#include "zklock.h"

#include <inttypes.h>
#include <stdio.h>

/* The path comes last: a long line is cut at its end. */
static void changed(zkl_trace *trace, const zkl_transitions *of, zkl_transition move,
                    const zkl_subject *subject) {
    const zkl_tracer *tracer = ZKL_CONTAINER_OF(trace, zkl_tracer, trace);
    const zkl_nanos since = tracer->clock->now() - tracer->opened;
    char number[32] = "", detail[64] = "";
    if (subject->number)
        snprintf(number, sizeof number, " %" PRIu64, subject->number);
    if (subject->result)
        snprintf(detail, sizeof detail, " (%s)", subject->result);
    else if (subject->token)
        snprintf(detail, sizeof detail, " (token %" PRId64 ")", subject->token);
    zkl_log_trace(tracer->log, "%.3f %s%s: %s -> %s%s%s%s%s%s", zkl_clock_seconds(since), of->of,
                  number, of->names[move.from], of->names[move.to], detail,
                  subject->path ? " " : "", subject->path ? subject->path : "",
                  subject->node ? "/" : "", subject->node ? subject->node : "");
}

bool zkl_tracer_begin(zkl_tracer *tracer, zkl_context *context, zkl_log *log) {
    if (!zkl_log_keep_trace(log))
        return false;
    *tracer = (zkl_tracer){{changed}, log, context->clock, zkl_context_now(context)};
    context->trace = &tracer->trace;
    zkl_log_trace(log, "0.000 zklock %s", ZKL_VERSION);
    return true;
}
