/* SPDX-License-Identifier: MIT */
/* acl_exposure: whether an ACL lets anybody delete a holder's node, or create one before it.
 * Pure. */
#ifndef ZKL_ACL_EXPOSURE_H
#define ZKL_ACL_EXPOSURE_H

#include <stdbool.h>

struct ACL_vector;

/* Sets *exposed. false: the answer has no list of entries. */
bool zkl_acl_exposure_of(const struct ACL_vector *acl, bool *exposed);

#endif
