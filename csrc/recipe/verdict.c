/* SPDX-License-Identifier: MIT */
#include "recipe/verdict.h"

/* The kinds that one of `kind` waits for. */
static zkl_kinds blockers_of(zkl_kind kind) {
    switch (kind) {
    case ZKL_KIND_LOCK:
        return ZKL_KINDS_OF(ZKL_KIND_LOCK);
    case ZKL_KIND_READ:
        return ZKL_KINDS_OF(ZKL_KIND_WRITE);
    case ZKL_KIND_WRITE:
        return ZKL_KINDS_OF(ZKL_KIND_WRITE) | ZKL_KINDS_OF(ZKL_KIND_READ);
    case ZKL_KIND_LEASE:
    case ZKL_KIND_NONE:
        return 0;
    }
    return 0;
}

bool zkl_verdict_blocked(zkl_kinds ahead, zkl_kind kind) {
    return (ahead & blockers_of(kind)) != 0;
}

bool zkl_verdict_blocks(const zkl_child *ahead, zkl_kind kind) {
    return zkl_verdict_blocked(ZKL_KINDS_OF(ahead->kind), kind);
}

/* Two children with one sequence: nobody can say which came first, so neither may hold. A read that
 * its owner took while it held write is the exception: it has the write's sequence on purpose. */
static bool ties(const zkl_child *other, zkl_kind kind) {
    return other->kind == kind || (kind == ZKL_KIND_WRITE && other->kind == ZKL_KIND_READ);
}

static bool tied(const zkl_child *children, size_t count, size_t own) {
    const int32_t sequence = children[own].sequence;
    for (size_t i = own; i-- > 0 && children[i].sequence == sequence;)
        if (ties(&children[i], children[own].kind))
            return true;
    for (size_t i = own + 1; i < count && children[i].sequence == sequence; i++)
        if (ties(&children[i], children[own].kind))
            return true;
    return false;
}

/* At its end a directory's counter stands still (tried): the servers give out the last number again
 * and again, and numbers below zero to creates that travel together. None of these shows which node
 * came first. */
static bool used_up(int32_t sequence) {
    return sequence == INT32_MAX || sequence < 0;
}

static zkl_verdict without_blocker(zkl_outcome outcome) {
    return (zkl_verdict){.outcome = outcome, .blocker = ZKL_NOBODY, .second = ZKL_NOBODY};
}

static size_t count_leases(const zkl_child *children, size_t count) {
    size_t leases = 0;
    for (size_t i = 0; i < count; i++)
        leases += children[i].kind == ZKL_KIND_LEASE;
    return leases;
}

static zkl_verdict of_lease(const zkl_child *children, size_t count, size_t permits) {
    const size_t leases = count_leases(children, count);
    return without_blocker(leases <= permits ? ZKL_VERDICT_GRANTED : ZKL_VERDICT_FULL);
}

void zkl_verdict_prepare(zkl_child *children, size_t count) {
    const zkl_child *latest = NULL, *former = NULL; /* writers with different sequences */
    for (size_t i = 0; i < count; i++) {
        zkl_child *child = &children[i];
        const bool beside = latest && latest->sequence == child->sequence;
        const zkl_child *before = beside ? former : latest;
        child->has_writer = before != NULL;
        child->writer = before ? before->sequence : 0;
        if (child->kind == ZKL_KIND_WRITE && !beside) {
            former = latest;
            latest = child;
        }
    }
}

size_t zkl_verdict_before(const zkl_child *children, size_t count, int64_t sequence) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (children[middle].sequence < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last writer among the children with the sequence of the one at `last`, up to `last`. */
static size_t writer_among(const zkl_child *children, size_t last) {
    for (size_t i = last + 1; i-- > 0 && children[i].sequence == children[last].sequence;)
        if (children[i].kind == ZKL_KIND_WRITE)
            return i;
    return ZKL_NOBODY;
}

/* The nearest writer before `index` with a smaller sequence. This skips readers, however many there
 * are: each child stores its nearest writer; if that one has gone, the child that is in its
 * position now knows the one before. */
static size_t writer_before(const zkl_child *children, size_t index) {
    const zkl_child *from = &children[index];
    while (from->has_writer) {
        const size_t end = zkl_verdict_before(children, index, (int64_t)from->writer + 1);
        const size_t found = end > 0 ? writer_among(children, end - 1) : ZKL_NOBODY;
        if (found != ZKL_NOBODY || end == 0)
            return found;
        from = &children[end - 1];
    }
    return ZKL_NOBODY;
}

/* The nearest child before `index` for which `own` has to wait. */
static size_t nearest_before(const zkl_child *children, size_t index, size_t own) {
    if (children[own].kind == ZKL_KIND_READ)
        return writer_before(children, index);
    for (size_t i = index; i-- > 0;)
        if (children[i].sequence != children[own].sequence &&
            zkl_verdict_blocks(&children[i], children[own].kind))
            return i;
    return ZKL_NOBODY;
}

zkl_verdict zkl_verdict_of(const zkl_child *children, size_t count, size_t own, size_t permits) {
    if (children[own].kind == ZKL_KIND_LEASE)
        return of_lease(children, count, permits);
    if (used_up(children[own].sequence) || tied(children, count, own))
        return without_blocker(ZKL_VERDICT_TIED);
    const size_t blocker = nearest_before(children, own, own);
    if (blocker == ZKL_NOBODY)
        return without_blocker(ZKL_VERDICT_GRANTED);
    return (zkl_verdict){ZKL_VERDICT_WAIT, blocker, nearest_before(children, blocker, own)};
}

zkl_ahead zkl_verdict_ahead(const zkl_child *children, size_t count, size_t own, size_t permits) {
    const size_t leases = count_leases(children, count);
    if (children[own].kind == ZKL_KIND_LEASE)
        return (zkl_ahead){leases > permits ? leases - permits : 0, ZKL_NOBODY, leases};
    zkl_ahead ahead = {.nearest = nearest_before(children, own, own), .of = count - leases};
    for (size_t i = ahead.nearest; i != ZKL_NOBODY; i = nearest_before(children, i, own))
        ahead.count++;
    return ahead;
}

size_t zkl_verdict_holder(const zkl_child *children, size_t count, zkl_kind kind) {
    for (size_t i = 0; i < count; i++)
        if ((children[i].kind == ZKL_KIND_LEASE) == (kind == ZKL_KIND_LEASE))
            return i;
    return ZKL_NOBODY;
}

bool zkl_verdict_walk(zkl_walk *walk, const zkl_child *child) {
    if (child->sequence != walk->sequence)
        walk->before = walk->seen;
    walk->sequence = child->sequence;
    walk->seen |= ZKL_KINDS_OF(child->kind);
    return !zkl_verdict_blocked(walk->before, child->kind);
}

static bool shares(zkl_kind kind) {
    return kind == ZKL_KIND_READ || kind == ZKL_KIND_WRITE;
}

/* Leases have their own directory. A lease in another directory blocks nobody. */
bool zkl_verdict_mixed(const zkl_child *children, size_t count, zkl_kind kind) {
    for (size_t i = 0; i < count; i++)
        if (kind == ZKL_KIND_LOCK ? shares(children[i].kind)
                                  : shares(kind) && children[i].kind == ZKL_KIND_LOCK)
            return true;
    return false;
}
