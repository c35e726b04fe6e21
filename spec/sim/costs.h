/* SPDX-License-Identifier: MIT */
/* costs: what the first histories ask of the servers, exactly: a change of the sources that costs a
 * request, or saves one, or grants a lock at another moment is seen, also where no promise is
 * broken. */
#ifndef COSTS_H
#define COSTS_H

#include <stdbool.h>
#include <stdio.h>

/* Tells what they ask, as spec/sim/costs.txt has it: the sum of all, and the first ones alone; or
 * each of them alone. */
void sim_costs_tell(FILE *to, bool each);
/* Holds them to what was told: says what differs. Returns what main does. */
int sim_costs_check(FILE *told);

#endif
