/* costs: what the first histories ask of the servers, exactly: a change of the sources that costs a
 * request, or saves one, or grants a lock at another moment is seen, also where no promise is
 * broken. */
#ifndef COSTS_H
#define COSTS_H

#include <stdio.h>

/* Tells what they ask, as spec/sim/costs.txt has it. */
void sim_costs_tell(FILE *to);
/* Holds them to what was told: says what differs. Returns what main does. */
int sim_costs_check(FILE *told);

#endif
