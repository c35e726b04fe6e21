/* SPDX-License-Identifier: MIT */
#include "port/wire.h"

#include <string.h>

#define NUMBER 4
#define OPERATION 9 /* the header of each operation in a transaction: type, end, error */
#define REQUEST 8   /* number and type of the request */

size_t zkl_wire_text(size_t length) {
    return NUMBER + length;
}

static size_t entry(size_t scheme, size_t id) {
    return NUMBER + zkl_wire_text(scheme) + zkl_wire_text(id);
}

static size_t acl_size(zkl_acl acl) {
    const size_t anyone = entry(sizeof "world" - 1, sizeof "anyone" - 1),
                 creator = entry(sizeof "auth" - 1, 0);
    switch (acl) {
    case ZKL_ACL_CREATOR:
        return NUMBER + creator;
    case ZKL_ACL_READ:
        return NUMBER + anyone + creator;
    case ZKL_ACL_OPEN:
        break;
    }
    return NUMBER + anyone;
}

size_t zkl_wire_create(size_t path, size_t data, zkl_acl acl) {
    return OPERATION + zkl_wire_text(path) + zkl_wire_text(data) + acl_size(acl) + NUMBER;
}

size_t zkl_wire_request(bool transaction) {
    return REQUEST + (transaction ? OPERATION : 0);
}

size_t zkl_wire_op(const zkl_op *op, bool transaction) {
    const size_t head = (transaction ? OPERATION : 0) + zkl_wire_text(strlen(op->path));
    switch (op->kind) {
    case ZKL_OP_CREATE:
        return head + zkl_wire_text(op->length) + acl_size(op->acl) + NUMBER;
    case ZKL_OP_SET:
        return head + zkl_wire_text(op->length) + NUMBER;
    case ZKL_OP_DELETE:
    case ZKL_OP_CHECK:
        return head + NUMBER;
    case ZKL_OP_GET:
    case ZKL_OP_EXISTS:
    case ZKL_OP_CHILDREN:
    case ZKL_OP_ACL:
        break;
    }
    return head + 1;
}

size_t zkl_wire_check(size_t path) {
    return OPERATION + zkl_wire_text(path) + NUMBER;
}

size_t zkl_wire_batch(size_t mark, zkl_acl acl) {
    const size_t set = OPERATION + zkl_wire_text(mark) + zkl_wire_text(0) + NUMBER,
                 erase = OPERATION + zkl_wire_text(mark) + NUMBER;
    return REQUEST + zkl_wire_create(mark, 0, acl) + set + erase + OPERATION;
}
