/* SPDX-License-Identifier: MIT */
#include "zookeeper/acl_exposure.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* Permissions to delete our node, to create one before it, or to grant oneself both. */
#define MEDDLING (ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN)

/* No private network is larger than 10.0.0.0/8 or fd00::/8. A shorter prefix is the public
 * internet, or a large part of it. */
#define NETWORK_LEAST 8

/* "address" or "address/bits"; the servers also accept a sign: "+0". */
static bool is_public(const char *network) {
    const char *slash = strchr(network, '/');
    char *end;
    if (!slash)
        return false;
    const long bits = strtol(slash + 1, &end, 10);
    return bits < NETWORK_LEAST || *end;
}

static bool is_anybody(const struct Id *id) {
    return strcmp(id->scheme, "ip") == 0
               ? is_public(id->id)
               : strcmp(id->scheme, "world") == 0 && strcmp(id->id, "anyone") == 0;
}

bool zkl_acl_exposure_of(const struct ACL_vector *acl, bool *exposed) {
    *exposed = false;
    if (!acl || acl->count < 0 || (acl->count > 0 && !acl->data))
        return false;
    for (int32_t i = 0; i < acl->count; i++) {
        const struct ACL *entry = &acl->data[i];
        if (!entry->id.scheme || !entry->id.id)
            return false;
        *exposed |= (entry->perms & MEDDLING) && is_anybody(&entry->id);
    }
    return true;
}
