#include "verdict.h"

bool zkl_verdict_blocks(const zkl_child *ahead, zkl_kind kind) {
    switch (kind) {
    case ZKL_KIND_READ:
        return ahead->kind == ZKL_KIND_WRITE;
    case ZKL_KIND_WRITE:
        return ahead->kind == ZKL_KIND_WRITE || ahead->kind == ZKL_KIND_READ;
    default:
        return ahead->kind == kind;
    }
}

/* Two of one sequence: nobody can say who came first, so neither may hold. Only a read that its owner took while it held
 * write bears the write's own sequence, and knows what it does. */
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

zkl_verdict zkl_verdict_of(const zkl_child *children, size_t count, size_t own) {
    if (tied(children, count, own))
        return (zkl_verdict){ZKL_VERDICT_TIED, 0};
    for (size_t i = own; i-- > 0;)
        if (children[i].sequence != children[own].sequence &&
            zkl_verdict_blocks(&children[i], children[own].kind))
            return (zkl_verdict){ZKL_VERDICT_WAIT, i};
    return (zkl_verdict){ZKL_VERDICT_GRANTED, 0};
}

static bool is_mutex(zkl_kind kind) {
    return kind == ZKL_KIND_LOCK;
}

bool zkl_verdict_mixed(const zkl_child *children, size_t count, zkl_kind kind) {
    for (size_t i = 0; i < count; i++)
        if (is_mutex(children[i].kind) != is_mutex(kind))
            return true;
    return false;
}
