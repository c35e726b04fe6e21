/* SPDX-License-Identifier: MIT */
/* How each kind of answer is told. */
#include "handle.h"

#include <string.h>

static const struct Stat *stat_or_null(const sim_request *r) {
    return r->rc == ZOK ? &r->part.stat : NULL;
}

int sim_tell_void(sim_request *r) {
    ((void_completion_t)r->completion)(r->rc, r->ctx);
    return 0;
}

int sim_tell_stat(sim_request *r) {
    ((stat_completion_t)r->completion)(r->rc, stat_or_null(r), r->ctx);
    return 0;
}

int sim_tell_data(sim_request *r) {
    const bool good = r->rc == ZOK;
    ((data_completion_t)r->completion)(r->rc, good ? r->data : NULL,
                                       good ? (int)strlen(r->data) : -1, stat_or_null(r), r->ctx);
    return 0;
}

static struct String_vector names_of(const sim_request *r) {
    return (struct String_vector){(int32_t)r->name_count, r->names};
}

int sim_tell_strings(sim_request *r) {
    const struct String_vector names = names_of(r);
    ((strings_completion_t)r->completion)(r->rc, r->rc == ZOK ? &names : NULL, r->ctx);
    return 0;
}

int sim_tell_strings_stat(sim_request *r) {
    const struct String_vector names = names_of(r);
    ((strings_stat_completion_t)r->completion)(r->rc, r->rc == ZOK ? &names : NULL, stat_or_null(r),
                                               r->ctx);
    return 0;
}

int sim_tell_string(sim_request *r) {
    const char *path = r->op == OP_SYNC ? r->part.path : r->part.made;
    ((string_completion_t)r->completion)(r->rc, r->rc == ZOK ? path : NULL, r->ctx);
    return 0;
}

int sim_tell_string_stat(sim_request *r) {
    ((string_stat_completion_t)r->completion)(r->rc, r->rc == ZOK ? r->part.made : NULL,
                                              stat_or_null(r), r->ctx);
    return 0;
}

int sim_tell_acl(sim_request *r) {
    char id[] = "somebody:secret";
    struct ACL entries[2] = {{ZOO_PERM_ALL, ZOO_ANYONE_ID_UNSAFE}};
    struct ACL_vector acl = {1, entries};
    if (r->kept) {
        acl.count = r->kept == ZOO_PERM_ALL ? 1 : 2;
        entries[0].perms &= ~r->kept;
        entries[acl.count - 1] = (struct ACL){ZOO_PERM_ALL, {(char *)"digest", id}};
    }
    ((acl_completion_t)r->completion)(r->rc, r->rc == ZOK ? &acl : NULL,
                                      r->rc == ZOK ? &r->part.stat : NULL, r->ctx);
    return 0;
}

int sim_tell_multi(sim_request *r) {
    for (size_t i = 0; i < r->part_count; i++) {
        zoo_op_result_t *result = &r->results[i];
        const sim_part *p = &r->parts[i];
        result->err = r->rc == r->part.rc ? p->rc : r->rc;
        if (r->rc == r->part.rc && r->rc != ZOK) {
            result->value = NULL; /* the library takes the places for the answers away */
            result->stat = NULL;
        }
        if (r->rc != ZOK)
            continue;
        if (p->made && result->value && result->valuelen > 0) {
            strncpy(result->value, p->made, (size_t)result->valuelen);
            result->value[result->valuelen - 1] = '\0';
        }
        if (result->stat && p->op == OP_SET)
            *result->stat = p->stat;
    }
    ((void_completion_t)r->completion)(r->rc, r->ctx);
    return 0;
}
