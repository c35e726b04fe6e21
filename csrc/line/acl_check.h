/* acl_check: before anything is granted in a directory, its ACL is read, unless our own nodes' is
 * OPEN: where strangers may create, delete or administer, one of them could take away the node with
 * which we hold. That is done once for each path and session, along with the first list; again only
 * when a list shows another directory at that path, or another ACL. */
#ifndef ZKL_ACL_CHECK_H
#define ZKL_ACL_CHECK_H

#include "line/line_state.h"

/* The meaning of the ACL's answer for the waiters of the line. */
typedef enum zkl_acl_finding {
    ZKL_ACL_SAFE,    /* they may be granted */
    ZKL_ACL_UNKNOWN, /* nothing yet: what brings the next answer is wanted or on its way */
    ZKL_ACL_REFUSED  /* they must fail */
} zkl_acl_finding;

/* Asks for the ACL, unless it is known. The caller sends a list next, which is answered behind
 * it. */
void zkl_acl_check_before_list(zkl_line *line);
/* The list has shown the directory; NULL: there is none. */
void zkl_acl_check_listed(zkl_line *line, const zkl_stat *directory);
/* The answer to the ACL. Of REFUSED `why` is set. */
zkl_acl_finding zkl_acl_check_answered(zkl_line *line, const zkl_reply *reply, zkl_status *why);
/* May somebody be granted? If not, what brings the answer to that is on its way, or is sent when
 * the line retries. */
bool zkl_acl_check_passed(zkl_line *line);
/* Is what was known when somebody was granted still so, as far as the lists have shown? */
bool zkl_acl_check_stands(const zkl_line *line);
/* The handle is gone, and with it what was on its way. What is known of the session's directories
 * is found again in common->acl_cache. */
void zkl_acl_check_forget(zkl_line *line);

#endif
