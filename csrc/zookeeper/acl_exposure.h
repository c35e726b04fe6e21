/* acl_exposure: whether an ACL lets anybody take a node away with which somebody holds, or stand in
 * its place. Pure. */
#ifndef ZKL_ACL_EXPOSURE_H
#define ZKL_ACL_EXPOSURE_H

#include <stdbool.h>

struct ACL_vector;

/* false: no list of entries. */
bool zkl_acl_exposure_of(const struct ACL_vector *acl, bool *exposed);

#endif
