/* SPDX-License-Identifier: MIT */
/* acl_text: an ACL as text, for people. Pure. */
#ifndef ZKL_ACL_TEXT_H
#define ZKL_ACL_TEXT_H

struct ACL_vector;

/* A line `SCHEME:ID:PERMISSIONS` for each entry, such as `world:anyone:rwcda`. The texts of an
 * entry are the servers', as they are. The caller frees the result. NULL: no memory. */
char *zkl_acl_text(const struct ACL_vector *acl);

#endif
