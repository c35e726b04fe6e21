/* node_request_state: what a node request knows of itself, and how it goes from one stage to the
 * next: for the rooms of node requests alone. Under the client's mutex. */
#ifndef ZKL_NODE_REQUEST_STATE_H
#define ZKL_NODE_REQUEST_STATE_H

#include "base/event.h"
#include "base/timer.h"
#include "line/contender.h"
#include "line/parents.h"
#include "nodes/content.h"
#include "nodes/nodes.h"
#include "port/receiver.h"

/* The subject of an answer. */
enum { ZKL_NODE_REQUEST_DEED, ZKL_NODE_REQUEST_PRELUDE };

/* A node request that waits is handed over at the end of a step, by zkl_node_requests_step: when
 * the link comes, or the timer `retry` fires. One that was handed over goes on when its answer
 * comes, if only to say that it was cut off; without a handle, with zkl_node_requests_unlink.
 * Either ends at its deadline. */
typedef enum zkl_node_request_stage {
    ZKL_NODE_REQUEST_WAITING,
    ZKL_NODE_REQUEST_HANDED,
    ZKL_NODE_REQUEST_DONE
} zkl_node_request_stage;

struct zkl_node_request {
    zkl_client *client; /* for the host's side */
    zkl_nodes *nodes;
    zkl_list_item item; /* nodes->waiting, nodes->handed */
    zkl_receiver receiver;
    zkl_node_request_stage stage;
    zkl_op *ops;
    zkl_content *contents; /* of each */
    size_t count;          /* 0: a sync */
    bool several, once, too_big;
    bool guarded;
    zkl_contender *guard; /* NULL: it is gone */
    /* the numbers of the contenders whose nodes were checked first */
    uint64_t *checked;
    size_t checks;
    zkl_parents parents;
    char *above; /* what `parents` makes; NULL: it was not needed yet */
    unsigned rounds;
    bool parents_due; /* they are to be made before it is handed over again */
    bool found;
    size_t failed;
    zkl_timer timer;
    zkl_event answer;
};

bool zkl_node_request_is_read(const zkl_node_request *request);
/* A write that was handed over and not answered: nobody knows what becomes of it. */
bool zkl_node_request_is_unknown(const zkl_node_request *request);
/* Of how many contenders its guard is made; 0: it has none, or that is gone. */
size_t zkl_node_request_parts(zkl_contender *guard);

void zkl_node_request_set_stage(zkl_node_request *request, zkl_node_request_stage to);
void zkl_node_request_finish(zkl_node_request *request, zkl_status status);
/* Nobody knows what became of it, or `status` says why it was not done. */
void zkl_node_request_give_up(zkl_node_request *request, zkl_status status);
/* A read that was cut off: the next link, or a pause, goes on. One that tries once ends. */
void zkl_node_request_cut_off(zkl_node_request *request);
/* The servers answered `rc`, and carried nothing out: it waits, and nothing is handed over before a
 * pause has passed. One that tries once ends, unless `rc` is ZOK: another node request has
 * forgotten the barrier, and the next read raises a new one. */
void zkl_node_request_wait(zkl_node_request *request, int rc);

#endif
