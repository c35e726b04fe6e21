#include "queue/vetting.h"

#include "base/status.h"
#include "queue/request.h"
#include "queue/vetted.h"

#include <zookeeper/zookeeper.h>

static const zkl_edition unknown;

static bool is_same(zkl_edition a, zkl_edition b) {
    return a.czxid == b.czxid && a.aversion == b.aversion;
}

static bool is_known(zkl_edition edition) {
    return edition.czxid != 0;
}

static void send_get_acl(zkl_line *line) {
    zkl_port *port = line->context->port;
    const zkl_return back = {line->receiver.id, ZKL_REQUEST_ACL, 0};
    if (line->vetting || !port)
        return;
    line->vetting = port->call->get_acl(port, line->path, back) == ZOK;
    if (!line->vetting)
        zkl_line_retry_later(line);
}

void zkl_vetting_before_list(zkl_line *line) {
    const zkl_context *context = line->context;
    if (context->acl == ZKL_ACL_OPEN || is_known(line->vetted))
        return;
    line->vetted = zkl_vetted_find(&line->queue->vetted, line->path, context->session);
    if (!is_known(line->vetted))
        send_get_acl(line);
}

void zkl_vetting_listed(zkl_line *line, const zkl_stat *directory) {
    line->directory = directory ? (zkl_edition){directory->czxid, directory->aversion} : unknown;
}

/* A server answers in order, so if the list has shown another directory, or another ACL of it, the
 * list is the older one: a new list is wanted. */
static zkl_vetted_as safe(zkl_line *line, const zkl_stat *directory) {
    line->vetted = (zkl_edition){directory->czxid, directory->aversion};
    zkl_vetted_add(&line->queue->vetted, line->path, line->context->session, line->vetted);
    if (is_same(line->vetted, line->directory))
        return ZKL_VETTED_SAFE;
    line->list_wanted |= !line->list_sent;
    return ZKL_VETTED_UNKNOWN;
}

zkl_vetted_as zkl_vetting_answered(zkl_line *line, const zkl_reply *reply, zkl_status *why) {
    line->vetting = false;
    if (reply->rc == ZOK && !reply->exposed)
        return safe(line, reply->stat);
    line->vetted = unknown;
    if (reply->rc == ZNONODE && !is_known(line->directory))
        return ZKL_VETTED_UNKNOWN; /* neither is our node there: the answer to its create says so */
    if (reply->rc == ZNONODE || zkl_status_passes(reply->rc)) {
        zkl_line_retry_later(line);
        return ZKL_VETTED_UNKNOWN;
    }
    *why = reply->rc == ZOK ? ZKL_ACCESS_DENIED : zkl_status_of(reply->rc);
    return ZKL_VETTED_REFUSED;
}

bool zkl_vetting_stands(const zkl_line *line) {
    return line->context->acl == ZKL_ACL_OPEN ||
           (is_known(line->vetted) && is_same(line->vetted, line->directory));
}

bool zkl_vetting_passed(zkl_line *line) {
    if (zkl_vetting_stands(line))
        return true;
    send_get_acl(line);
    return false;
}

void zkl_vetting_forget(zkl_line *line) {
    line->vetting = false;
    line->directory = line->vetted = unknown;
}
