/* SPDX-License-Identifier: MIT */
/* alarm: a descriptor that becomes readable at a moment of the boot clock, which goes on while the
 * machine is suspended. poll(2) would sleep through that. */
#ifndef RUN_ALARM_H
#define RUN_ALARM_H

#include "zklock.h"

/* -1: errno says why. */
int cli_alarm_open(void);
/* Readable from then on, and not before. ZKL_NEVER: never. */
void cli_alarm_set(int alarm, zkl_nanos moment);

#endif
