/* SPDX-License-Identifier: MIT */
/* line_common: the data that all lines of a client share besides the context: budgets, and lists
 * that span lines. Each list belongs to the room named in its comment. All of it is under the
 * client's mutex. */
#ifndef ZKL_LINE_COMMON_H
#define ZKL_LINE_COMMON_H

#include "base/list.h"
#include "base/round.h"
#include "paths/directories.h"
#include "line/outbox.h"
#include "paths/node_budget.h"
#include "paths/watch_budget.h"
#include "port/context.h"
#include "recipe/throttle.h"

/* How often in a row a contender, a line or a compound repeats a failed action at once. After that
 * it pauses before each time. */
enum { ZKL_AT_ONCE = 3 };

typedef struct zkl_line_common {
    zkl_context *context;
    zkl_watch_budget watch_budget;
    zkl_node_budget node_budget;
    zkl_directories directories;
    zkl_outbox outbox;     /* batch: what it sends */
    zkl_throttle throttle; /* line_state: when lines ask again that busy servers have refused */
    zkl_list sent;         /* line_state: lines of which something was sent, to be settled */

    zkl_list departing;  /* contender: those whose nodes must go, in order of departure */
    uint64_t departures; /* contender: how many have ever departed */
    /* contender: for how many of those the servers have refused the delete */
    size_t refusals;
    zkl_list retired; /* contender: those that the end of the step frees */
    zkl_round reads;  /* polled: contenders whose own node the client reads in turn */
    zkl_round lists;  /* polled: contenders whose line the client lists in turn */
    /* line_state: lines without contenders, which the end of the step frees if they still have
     * none */
    zkl_list idle;
    zkl_list dirty_compounds; /* compound: those with a change in this step */
    /* compound: those in no line that enter their lines again after a pause */
    zkl_list pausing;
    zkl_list dirty_nodes; /* shared_node: those with a change in this step */
    zkl_list doubtful;    /* doubt: contenders in no line that may have lost their hold */
    bool hurried;         /* shared_node: no node is kept that no caller uses */
} zkl_line_common;

#endif
