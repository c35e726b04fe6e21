/* SPDX-License-Identifier: MIT */
/* loop: what a process waits for: descriptors, and a moment. An alarm is a descriptor that becomes
 * readable at a moment of the boot clock, which goes on while the machine is suspended: the
 * time-out of poll(2) would sleep through that. */
#ifndef ZKL_CLI_LOOP_H
#define ZKL_CLI_LOOP_H

#include "zklock.h"

#include <poll.h>

/* Enters the descriptors, each to be waited for until it is readable; -1: none. */
void cli_loop_enter(struct pollfd *polled, const int *fds, nfds_t count);
/* Waits until one of them is ready, whatever signals come. */
void cli_loop_wait(struct pollfd *polled, nfds_t count);

/* -1: errno says why. */
int cli_alarm_open(void);
/* Readable from then on, and not before. ZKL_NEVER: never. */
void cli_alarm_set(int alarm, zkl_nanos moment);

#endif
