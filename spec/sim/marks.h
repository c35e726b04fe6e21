/* SPDX-License-Identifier: MIT */
/* marks: scripts that ask for the mark of a mutex that they hold, and write it (csrc/once). The
 * room judges what they are told by what the servers have done: only a hold whose node is there
 * writes a mark, an answer tells what became of the write, and what is due, or is not, was so while
 * the script waited for the answer. */
#ifndef MARKS_H
#define MARKS_H

#include "host.h"

/* The clocks of the servers go wrong by so much at most; 0: they are right. */
void sim_marks_begin(zkl_nanos spread);
/* Somebody may set them, as wrongly. */
void sim_marks_deed(void);

/* The script goes on with what it holds, which may have no mark: asks, or writes, or both. */
void sim_marks_held(sim_caller *caller);
/* The event is somebody else's: false. */
bool sim_marks_hear(sim_host *host, const zkl_event *event);
/* Nobody waits for the answers any more. */
void sim_marks_close(sim_host *host);
/* Nothing is asked that has not been answered. */
bool sim_marks_are_answered(const sim_host *host);

/* At the places of marks nothing but marks is left. */
void sim_marks_end(void);

#endif
