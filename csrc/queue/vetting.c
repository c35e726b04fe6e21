#include "queue/vetting.h"

#include "queue/send.h"
#include "queue/leave.h"
#include "queue/evaluate.h"

#include <zookeeper/zookeeper.h>

static const zkl_edition unknown;

static bool is_same(zkl_edition a, zkl_edition b) {
    return a.czxid == b.czxid && a.aversion == b.aversion;
}

static bool is_known(zkl_edition edition) {
    return edition.czxid != 0;
}

static void ask(zkl_line *line) {
    const zkl_return back = {line->receiver.id, ZKL_REQUEST_ACL, 0};
    if (line->vetting || !line->context->port)
        return;
    line->vetting =
        line->context->port->call->get_acl(line->context->port, line->path, back) == ZOK;
    if (!line->vetting)
        zkl_send_again_later(line);
}

void zkl_vetting_before_list(zkl_line *line) {
    zkl_context *context = line->context;
    if (context->acl == ZKL_ACL_OPEN || is_known(line->vetted))
        return;
    line->vetted = zkl_vetted_find(&context->vetted, line->path, context->session);
    if (!is_known(line->vetted))
        ask(line);
}

void zkl_vetting_listed(zkl_line *line, const zkl_stat *directory) {
    line->directory = directory ? (zkl_edition){directory->czxid, directory->aversion} : unknown;
}

/* The server is asked in order: what it has answered to the list is older than this, if it is not the same. */
static void closed(zkl_line *line, const zkl_stat *directory) {
    line->vetted = (zkl_edition){directory->czxid, directory->aversion};
    zkl_vetted_add(&line->context->vetted, line->path, line->context->session, line->vetted);
    if (!is_same(line->vetted, line->directory)) {
        line->list_wanted |= !line->list_sent;
        return;
    }
    zkl_contender *next;
    for (zkl_contender *c = line->first; c; c = next) {
        next = c->next;
        zkl_evaluate_grant(c, false);
    }
}

void zkl_vetting_answered(zkl_line *line, const zkl_reply *reply) {
    line->vetting = false;
    if (reply->rc == ZOK && !reply->exposed) {
        closed(line, reply->stat);
        return;
    }
    line->vetted = unknown;
    if (reply->rc == ZNONODE)
        return; /* neither is our node there: its create says so */
    if (zkl_status_passes(reply->rc))
        zkl_send_again_later(line);
    else
        zkl_leave_fail_waiting(line,
                               reply->rc == ZOK ? ZKL_ACCESS_DENIED : zkl_status_of(reply->rc));
}

bool zkl_vetting_passed(zkl_line *line) {
    if (line->context->acl == ZKL_ACL_OPEN)
        return true;
    if (is_known(line->vetted) && is_same(line->vetted, line->directory))
        return true;
    ask(line);
    return false;
}

void zkl_vetting_forget(zkl_line *line, bool session) {
    line->vetting = false;
    line->directory = unknown;
    if (session)
        line->vetted = unknown;
}
