/* wire: how many bytes things take in a request. Servers refuse a packet above jute.maxbuffer,
 * 1048575 bytes unless an operator has changed it, by closing the connection: what they would not
 * take must not be sent. Pure. */
#ifndef ZKL_WIRE_H
#define ZKL_WIRE_H

#include "port/port.h"

/* Bytes in one request; what is left up to the servers' limit is room for what the library adds. */
#define ZKL_WIRE_MOST 1000000

/* A text of `length` bytes. */
size_t zkl_wire_text(size_t length);
/* A node that is made in a transaction: its path without the sequence, its data. */
size_t zkl_wire_create(size_t path, size_t data, zkl_acl acl);
/* What comes before and behind what is done to nodes: by one of them, or in a transaction. */
size_t zkl_wire_request(bool transaction);
/* One operation; a sequence is not counted. */
size_t zkl_wire_op(const zkl_op *op, bool transaction);
/* A check, in a transaction, of a node with a path of so many bytes. */
size_t zkl_wire_check(size_t path);
/* The bytes of a transaction besides its creates, with a mark (port.h) at a path of `mark`
 * bytes. */
size_t zkl_wire_batch(size_t mark, zkl_acl acl);

#endif
