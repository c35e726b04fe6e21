/* SPDX-License-Identifier: MIT */
/* wire: how many bytes things take in a request. Servers refuse a packet above jute.maxbuffer
 * (1048575 bytes by default) by closing the connection, so the client must not send one. Pure. */
#ifndef ZKL_WIRE_H
#define ZKL_WIRE_H

#include "port/port.h"

/* The bytes of one request at most. The rest of the servers' limit is room for bytes that the
 * library adds. */
#define ZKL_WIRE_MOST 1000000

/* A string of `length` bytes. */
size_t zkl_wire_text(size_t length);
/* A create in a transaction: the path without its sequence, and the data. */
size_t zkl_wire_create(size_t path, size_t data, zkl_acl acl);
/* The bytes of a request besides its operations: of a single operation, or of a transaction. */
size_t zkl_wire_request(bool transaction);
/* One operation, without a sequence. */
size_t zkl_wire_op(const zkl_op *op, bool transaction);
/* A check in a transaction, of a node with a path of so many bytes. */
size_t zkl_wire_check(size_t path);
/* A transaction besides its creates, with a mark (line/batch.h) at a path of `mark` bytes. */
size_t zkl_wire_batch(size_t mark, zkl_acl acl);

#endif
