/* SPDX-License-Identifier: MIT */
/* invariants_line: what is legal in one line, its contenders and its shared nodes. Only for
 * invariants_sums.c, which adds up all lines. */
#ifndef INVARIANTS_LINE_H
#define INVARIANTS_LINE_H

#include "line/line_state.h"

/* The object under check, for the message. */
typedef struct subject {
    const zkl_line *line;
    const zkl_contender *c; /* NULL: the line itself */
} subject;

/* Unless it is good: prints the row that is violated, and aborts. */
void must(subject of, bool good, const char *row);
void invariants_check_line(const zkl_line *line);
size_t invariants_count(const zkl_list *list);

#endif
