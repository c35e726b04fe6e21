/* SPDX-License-Identifier: MIT */
/* transaction: the one request that creates the nodes of all parts of a compound. */
#ifndef ZKL_TRANSACTION_H
#define ZKL_TRANSACTION_H

#include "compound/compound_lock.h"

/* True if the request fits into a packet that the servers accept. */
bool zkl_transaction_fits(const zkl_compound_lock *lock);
/* Sends it. The caller has a link, and none of the parts has a node. */
void zkl_transaction_send(zkl_compound_lock *lock);
/* To be set as the `answer` of the compound's receiver. */
void zkl_transaction_answered(zkl_receiver *receiver, const zkl_return *back,
                              const zkl_reply *reply);

#endif
