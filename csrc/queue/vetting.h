/* vetting: before anything is granted in a directory its ACL is read, unless our own are OPEN: where strangers may
 * create, delete or administer, one could take the node away with which we hold. Once for each path and session, with
 * the first list; again only when a list tells of another directory at that path, or of another ACL. */
#ifndef ZKL_VETTING_H
#define ZKL_VETTING_H

#include "queue/line.h"

/* Asks for the ACL, unless it is known; the list that the caller sends next is answered behind it. */
void zkl_vetting_before_list(zkl_line *line);
/* The list's answer; NULL: there is no directory. */
void zkl_vetting_listed(zkl_line *line, const zkl_stat *directory);
/* The answer to the ACL: waiters fail or may be granted. */
void zkl_vetting_answered(zkl_line *line, const zkl_reply *reply);
/* May a place be granted? If not, what brings the answer to that is on its way, or the line comes by again. */
bool zkl_vetting_passed(zkl_line *line);
/* The handle is gone; `session`: and so is the session. */
void zkl_vetting_forget(zkl_line *line, bool session);

#endif
