/* SPDX-License-Identifier: MIT */
/* progress: the line on the terminal that says what a run waits for. The front updates it in place,
 * once a second, while it is in the foreground. */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include "zklock.h"

#define PROGRESS_TEXT 600

struct progress {
    char text[PROGRESS_TEXT]; /* empty: there is none */
    zkl_nanos since;          /* of the first text */
    bool shown;               /* it is on the terminal */
    int terminal;             /* opened for writes that do not wait; 0: not yet */
};

/* Is standard error a terminal that can erase a line? */
bool cli_progress_possible(void);
/* Shows another text. Empty: clears the line. */
void cli_progress_set(struct progress *progress, const char *text);
/* Erases the line until the next update: something else is about to be printed. */
void cli_progress_clear(struct progress *progress);
/* Shows the seconds anew. */
void cli_progress_update(struct progress *progress);
/* When the next update is due. */
zkl_nanos cli_progress_due(const struct progress *progress);
/* The shell has written on the terminal while this process was stopped. */
void cli_progress_forget(struct progress *progress);

#endif
