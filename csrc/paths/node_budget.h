/* SPDX-License-Identifier: MIT */
/* node_budget: limits the bytes of the paths of a session's ephemeral nodes. When a session ends,
 * the leader writes one transaction that lists all of them. It does so whatever their size, but
 * servers that start again cannot read a transaction above their limits (ZOOKEEPER-4306): about two
 * megabytes by default. The ensemble would never start again.
 *
 * Each ephemeral create has a share, from the moment at which it is asked for until its node is
 * known to be gone: also while it waits to be sent, is in doubt, or waits to be deleted. A line's
 * contender has one (contender.h), a semaphore has one for its leases, and a node request for all
 * of its creates. Under the client's mutex. */
#ifndef ZKL_NODE_BUDGET_H
#define ZKL_NODE_BUDGET_H

#include "base/path_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Less than half of the servers' limit: that also counts what surrounds each path. */
#define ZKL_NODE_BUDGET_DEFAULT 900000
#define ZKL_NODE_BUDGET_LEAST 1000
#define ZKL_NODE_BUDGET_MOST 100000000
/* The number that the servers append to a sequential node's path. After 2^31 nodes in a directory
 * it is a byte longer, which is not counted. */
#define ZKL_NODE_BUDGET_DIGITS 10

typedef struct zkl_node_budget {
    size_t most;
    size_t bytes; /* of all shares, and of the host's nodes */
    /* of shares that wait for room: their callers were let in, and their former nodes count */
    size_t owed;
    size_t made; /* how many of `bytes` are the host's nodes */
    zkl_path_table
        own; /* these; without memory for its path a node counts until the session ends */
} zkl_node_budget;

/* All zero: none. */
typedef struct zkl_node_share {
    uint32_t bytes;
    bool owed; /* it waits for room: nothing may be sent */
} zkl_node_share;

/* Why a share was refused. */
typedef struct zkl_shortage {
    uint32_t bytes; /* that the nodes had */
    uint32_t asked; /* that there was no room for; 0: nothing was refused */
} zkl_shortage;

/* `most` of 0: the default. */
void zkl_node_budget_init(zkl_node_budget *budget, size_t most);
/* Frees what it has. */
void zkl_node_budget_clear(zkl_node_budget *budget);

/* ---- shares ---- */

/* For a newcomer: takes a share, if there is room besides what is owed to others. false: there is
 * not, *why says so, and nothing has changed. */
bool zkl_node_budget_take(zkl_node_budget *budget, zkl_node_share *share, size_t bytes,
                          zkl_shortage *why);
/* The same question, without taking anything. */
bool zkl_node_budget_fits(const zkl_node_budget *budget, size_t bytes, zkl_shortage *why);
/* For a caller that was let in: takes a share, which is owed if there is no room. */
void zkl_node_budget_claim(zkl_node_budget *budget, zkl_node_share *share, size_t bytes);
/* Takes what is owed, if there is room now. false: it is still owed. */
bool zkl_node_budget_settle(zkl_node_budget *budget, zkl_node_share *share);
/* Ends a share, if there is one: its nodes are gone, or were never asked for. */
void zkl_node_budget_return(zkl_node_budget *budget, zkl_node_share *share);

/* ---- the host's own ephemeral nodes: they outlive the request that makes them ---- */

/* So many bytes of the share are a node at `path`. NULL: it may be there, under an unknown name.
 * `turn`: requests before that one say nothing about it. */
void zkl_node_budget_made(zkl_node_budget *budget, zkl_node_share *share, size_t bytes,
                          const char *path, uint64_t turn);
/* The answer to the request with that turn shows that the session has no node at `path`. */
void zkl_node_budget_gone(zkl_node_budget *budget, const char *path, uint64_t turn);
/* The session has ended, and with it these nodes. */
void zkl_node_budget_expire(zkl_node_budget *budget);

/* Names the bytes, the bound and the remedy. */
void zkl_node_budget_explain(const zkl_node_budget *budget, const zkl_shortage *why, char *text,
                             size_t size);

#endif
