/* SPDX-License-Identifier: MIT */
#include "base/transitions.h"

void zkl_transitions_trace(const zkl_transitions *transitions, unsigned from, unsigned to,
                           zkl_trace *trace, const void *object) {
    if (from == to)
        return;
    const zkl_transition move = {from, to};
    zkl_subject subject = {0};
    if (transitions->describe)
        transitions->describe(object, move, &subject);
    trace->changed(trace, transitions, move, &subject);
}

#ifdef ZKL_CHECK

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Allocates nothing, because tests count allocations. The line is short enough to be written in one
 * piece, even if other processes write to the same file. */
static void tell(const zkl_transitions *transitions, const char *what, unsigned from, unsigned to) {
    const char *path = getenv("ZKL_TRANSITIONS");
    const int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    char line[160];
    const int length = snprintf(line, sizeof line, "%s\t%s: %s -> %s\n", what, transitions->of,
                                transitions->names[from], transitions->names[to]);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) != length)
        perror(path);
    close(file);
}

static void tell_legal(const zkl_transitions *transitions) {
    for (unsigned from = 0; from < ZKL_TRANSITIONS_STATES; from++)
        for (unsigned to = 0; to < ZKL_TRANSITIONS_STATES; to++)
            if (transitions->legal[from] & ZKL_TO(to))
                tell(transitions, "legal", from, to);
}

static int has_made_any(const zkl_transitions *transitions) {
    for (unsigned from = 0; from < ZKL_TRANSITIONS_STATES; from++)
        if (transitions->made[from])
            return 1;
    return 0;
}

void zkl_transitions_check(zkl_transitions *transitions, zkl_transition move) {
    const unsigned from = move.from, to = move.to;
    if (from == to || transitions->made[from] & ZKL_TO(to))
        return;
    if (!(transitions->legal[from] & ZKL_TO(to))) {
        fprintf(stderr, "zklock: illegal transition: %s: %s -> %s\n", transitions->of,
                transitions->names[from], transitions->names[to]);
        tell(transitions, "illegal", from, to);
        abort();
    }
    if (!has_made_any(transitions))
        tell_legal(transitions);
    transitions->made[from] |= ZKL_TO(to);
    tell(transitions, "made", from, to);
}

#endif
