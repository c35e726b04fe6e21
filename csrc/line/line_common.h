/* line_common: what the lines of one client have in common besides the context: budgets, and lists
 * that go across lines. Each list belongs to the room that is named beside it. Everything is under
 * the client's mutex. */
#ifndef ZKL_LINE_COMMON_H
#define ZKL_LINE_COMMON_H

#include "base/list.h"
#include "base/round.h"
#include "line/acl_cache.h"
#include "line/watch_budget.h"
#include "port/context.h"

/* So often in a row a contender, a line or a compound does at once again what was of no use. After
 * that there is a pause before each time. */
enum { ZKL_AT_ONCE = 3 };

typedef struct zkl_line_common {
    zkl_context *context;
    zkl_acl_cache acl_cache;
    zkl_watch_budget watch_budget;

    zkl_list departing;  /* contender: those whose nodes must go, in order of departure */
    uint64_t departures; /* contender: how many have ever departed */
    size_t refusals;     /* contender: of how many of those the servers have refused the delete */
    zkl_list retired;    /* contender: to be freed at the end of the step */
    zkl_round reads;     /* polled: those whose own node is read in turn */
    zkl_round lists;     /* polled: those whose line is listed in turn */
    /* line_state: lines that were seen empty, to be freed at the end of the step if they still
     * are */
    zkl_list idle;
    zkl_list dirty_compounds; /* compound: those to which something has happened in this step */
    zkl_list pausing;         /* compound: those in no line that enter theirs again after a pause */
    zkl_list dirty_nodes;     /* shared_node: likewise */
    zkl_list doubtful;        /* doubt: those in no line that do not know whether they had lost */
    bool hurried;             /* shared_node: from now on none is kept that nobody uses */
} zkl_line_common;

#endif
