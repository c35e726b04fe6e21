#include "verdict.h"

static bool counts(const zkl_child *child, zkl_rule rule) {
    (void)rule; /* the one rule so far */
    return child->kind == ZKL_KIND_LOCK;
}

/* Two of one sequence: nobody can say who came first, so neither may hold. */
static bool tied(const zkl_child *children, size_t count, size_t own, zkl_rule rule) {
    const int32_t sequence = children[own].sequence;
    for (size_t i = own; i-- > 0 && children[i].sequence == sequence;)
        if (counts(&children[i], rule))
            return true;
    for (size_t i = own + 1; i < count && children[i].sequence == sequence; i++)
        if (counts(&children[i], rule))
            return true;
    return false;
}

zkl_verdict zkl_verdict_of(const zkl_child *children, size_t count, size_t own, zkl_rule rule) {
    if (tied(children, count, own, rule))
        return (zkl_verdict){ZKL_VERDICT_TIED, 0};
    for (size_t i = own; i-- > 0;)
        if (counts(&children[i], rule))
            return (zkl_verdict){ZKL_VERDICT_WAIT, i};
    return (zkl_verdict){ZKL_VERDICT_GRANTED, 0};
}

bool zkl_verdict_mixed(const zkl_child *children, size_t count, zkl_rule rule) {
    for (size_t i = 0; i < count; i++)
        if (!counts(&children[i], rule))
            return true;
    return false;
}
