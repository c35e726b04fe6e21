/* SPDX-License-Identifier: MIT */
/* batch: sends the creates and deletes that are due in the outbox. Those of different lines go
 * together in one transaction, so that the servers commit them as one. A create or delete that may
 * not, or that is the only one, goes as a request of its own. docs/internals/batching.md explains
 * which.
 *
 * Behind a create the transaction writes to the directory, where that may be: the answer is the
 * directory's stat at that moment. If it has one child, no node is in front of ours, and no list is
 * needed. */
#ifndef ZKL_BATCH_H
#define ZKL_BATCH_H

#include "line/line_common.h"

/* Near the end of every step: sends all that is due, if the pace allows it. true: it has. */
bool zkl_batch_step(zkl_line_common *common);
/* Sends all that is due now: the caller sends a write of its own behind it. */
void zkl_batch_flush(zkl_line_common *common);
/* The library's handle is gone, and with it the answers to those on their way. Each line hears of
 * it itself. */
void zkl_batches_forget(zkl_line_common *common);

/* The answer to a transaction does not contain the czxid of a node that it creates, but the mzxid
 * of one that it writes to, which is the same number. So the transaction also creates a node, the
 * mark, writes to it, and deletes it. */
enum { ZKL_MARK_OPS = 3 };

/* Adds these operations behind the others. `number`: that of the transaction's receiver, which is
 * part of the mark's name. false: no memory. The caller frees the path, which the three share. */
bool zkl_batch_add_mark(const zkl_context *context, const char *directory, uint64_t number,
                        zkl_op *ops);
/* The token of the nodes that a transaction has created, whose mark came behind `count`
 * operations. */
int64_t zkl_batch_token(const zkl_reply *reply, size_t count);
/* The write to the directory, behind a create: then no mark is needed. */
zkl_op zkl_batch_write(const char *directory);
/* The index of the operation that failed; reply->count: the answer names none. */
size_t zkl_batch_culprit(const zkl_reply *reply);

#endif
