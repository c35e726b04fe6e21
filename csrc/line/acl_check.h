/* SPDX-License-Identifier: MIT */
/* acl_check: reads a directory's ACL before the line grants anything in it, unless the ACL of our
 * own nodes is OPEN. Where strangers may create, delete or administer, one of them could delete a
 * holder's node. The client reads it once for each path and session, along with the first list, and
 * again only if a list shows another directory at that path, or another ACL. */
#ifndef ZKL_ACL_CHECK_H
#define ZKL_ACL_CHECK_H

#include "line/line_state.h"

/* The ACL's meaning for the waiters of the line. */
typedef enum zkl_acl_finding {
    ZKL_ACL_SAFE, /* the line may grant them */
    /* not known yet: a request that brings the next answer is wanted or on its way */
    ZKL_ACL_UNKNOWN,
    ZKL_ACL_REFUSED /* they must fail */
} zkl_acl_finding;

/* Asks for the ACL, unless it is known. The caller sends a list next; the servers answer the ACL
 * first. Or a write to the directory was answered in the place of a list. */
void zkl_acl_check_before_list(zkl_line *line);
/* The list, or that write, has shown this directory; NULL: it does not exist. */
void zkl_acl_check_listed(zkl_line *line, const zkl_stat *directory);
/* The answer to the request for the ACL. With REFUSED it sets `why`. */
zkl_acl_finding zkl_acl_check_answered(zkl_line *line, const zkl_reply *reply, zkl_status *why);
/* True if the line may grant: the latest list has shown a directory whose ACL was found safe. */
bool zkl_acl_check_stands(const zkl_line *line);
/* Asks for the ACL, unless the request is on its way. If it cannot be sent, it goes out when the
 * line retries. */
void zkl_acl_check_ask(zkl_line *line);
/* The handle is gone, and with it the request for the ACL. common->directories still has what is
 * known of them in this session. */
void zkl_acl_check_forget(zkl_line *line);

#endif
