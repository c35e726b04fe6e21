/* SPDX-License-Identifier: MIT */
/* lines: a history with many lines: hosts ask for many locks at once, so that what they write may
 * travel together; links break, and operators meddle, just then. In a calm one nothing goes wrong
 * but that some lines admit nobody, and one only at times: elsewhere each caller is granted at once
 * when it is first, in the order in which the callers came, and nobody is told of a failure of
 * another line. */
#ifndef LINES_H
#define LINES_H

#include "host.h"

/* 0: the history has the few places only. */
extern int sim_line_count;
/* `place`: PLACES for the first line, ... */
const char *sim_line_path(sim_place place);

typedef struct sim_lines_plan {
    int count;
    bool is_calm;
    bool has_cuts, has_operators; /* while what a deed has asked for is on its way */
} sim_lines_plan;

void sim_lines_begin(const sim_lines_plan *plan);
/* The directories are there before anybody asks, and some admit nobody. Else a caller whose create
 * has found none comes behind those that come meanwhile. */
void sim_lines_make(void);
/* Many callers join, or leave, at once. */
void sim_lines_deed(sim_host *host);
/* All lines admit everybody. */
void sim_lines_mend(void);
sim_place sim_lines_any(void);

/* ---- judging a calm history ---- */

void sim_lines_answered(const sim_caller *c);
void sim_lines_granted(const sim_caller *c);
/* Nobody is kept waiting who is first. */
void sim_lines_check(const sim_host *host);

#endif
