/* SPDX-License-Identifier: MIT */
#include "line/acl_check.h"

#include "base/status.h"
#include "paths/directories.h"
#include "line/request.h"

#include <zookeeper/zookeeper.h>

static const zkl_edition unknown;

static bool is_same(zkl_edition a, zkl_edition b) {
    return a.czxid == b.czxid && a.aversion == b.aversion;
}

static bool is_known(zkl_edition edition) {
    return edition.czxid != 0;
}

void zkl_acl_check_ask(zkl_line *line) {
    zkl_port *port = line->context->port;
    const zkl_return back = {line->receiver.id, ZKL_REQUEST_ACL, 0};
    if (line->acl_asked || !zkl_context_is_linked(line->context))
        return;
    const zkl_op op = {.kind = ZKL_OP_ACL, .path = line->path};
    line->acl_asked = port->call->perform(port, &op, false, back) == ZOK;
    if (!line->acl_asked)
        zkl_line_retry_later(line);
}

void zkl_acl_check_before_list(zkl_line *line) {
    const zkl_context *context = line->context;
    if (context->acl == ZKL_ACL_OPEN || is_known(line->acl_checked))
        return;
    line->acl_checked =
        zkl_directories_safe(&line->common->directories, line->path, context->session);
    if (!is_known(line->acl_checked))
        zkl_acl_check_ask(line);
}

void zkl_acl_check_listed(zkl_line *line, const zkl_stat *directory) {
    line->directory = directory ? (zkl_edition){directory->czxid, directory->aversion} : unknown;
}

/* A server answers in order. So if the list has shown another directory, or another ACL, the list
 * is the older one, and a new list is wanted. */
static zkl_acl_finding safe(zkl_line *line, const zkl_stat *directory) {
    line->acl_checked = (zkl_edition){directory->czxid, directory->aversion};
    zkl_directories_found_safe(&line->common->directories, line->path, line->context->session,
                               line->acl_checked);
    if (is_same(line->acl_checked, line->directory))
        return ZKL_ACL_SAFE;
    line->list_wanted |= !line->list_sent;
    return ZKL_ACL_UNKNOWN;
}

zkl_acl_finding zkl_acl_check_answered(zkl_line *line, const zkl_reply *reply, zkl_status *why) {
    line->acl_asked = false;
    if (reply->rc == ZOK && !reply->exposed)
        return safe(line, reply->stat);
    line->acl_checked = unknown;
    if (reply->rc == ZNONODE && !is_known(line->directory))
        return ZKL_ACL_UNKNOWN; /* nor is our node there: the answer to its create reports that */
    if (reply->rc == ZNONODE || zkl_status_passes(reply->rc)) {
        zkl_line_retry_after(line, reply->rc);
        return ZKL_ACL_UNKNOWN;
    }
    *why = reply->rc == ZOK ? ZKL_ACCESS_DENIED : zkl_status_of(reply->rc);
    return ZKL_ACL_REFUSED;
}

bool zkl_acl_check_stands(const zkl_line *line) {
    return line->context->acl == ZKL_ACL_OPEN ||
           (is_known(line->acl_checked) && is_same(line->acl_checked, line->directory));
}

void zkl_acl_check_forget(zkl_line *line) {
    line->acl_asked = false;
    line->directory = line->acl_checked = unknown;
}
