/* SPDX-License-Identifier: MIT */
/* batch: sends the creates and deletes that are due in the outbox. Those of different lines go
 * together in one transaction, so that the servers commit them as one. A create or delete that may
 * not, or that is the only one, goes as a request of its own. docs/internals/batching.md explains
 * which. */
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

#endif
