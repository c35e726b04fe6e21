/* SPDX-License-Identifier: MIT */
/* exit_code: what zklock exits with. The numbers are those of sysexits(3), which scripts and cron
 * jobs know:
 *
 *   EX_USAGE 64        wrong arguments, or a configuration that cannot be used
 *   EX_DATAERR 65      wrong kind, deadlock, bad version, not empty, too big
 *   EX_NOINPUT 66      no node
 *   EX_UNAVAILABLE 69  no session, or no answer, in time
 *   EX_SOFTWARE 70     any other error
 *   EX_CANTCREAT 73    node exists
 *   EX_TEMPFAIL 75     the lock was lost or revoked; a guard is gone
 *   EX_PROTOCOL 76     unknown: nobody can say whether the write was done
 *   EX_NOPERM 77       access denied, auth failed */
#ifndef ZKL_CLI_EXIT_CODE_H
#define ZKL_CLI_EXIT_CODE_H

#include "zklock.h"

#include <sysexits.h>

/* The lock is held by somebody else; nobody holds what is to be revoked. */
#define CLI_EXIT_BUSY 1

/* ZKL_TIMEOUT counts as no answer in time: a caller that waits for a lock asks for it before. */
int cli_exit_code(zkl_status status);

#endif
