/* SPDX-License-Identifier: MIT */
/* grace: how long before the end of validity the command gets TERM. Pure. */
#ifndef ZKL_CLI_GRACE_H
#define ZKL_CLI_GRACE_H

#include <stdbool.h>

#define CLI_GRACE_LEAST 0.5 /* seconds */
#define CLI_GRACE_MOST 5.0  /* seconds, unless the user asks for more */

/* The grace for a session of so many seconds: what was asked, or below 0 the default, an eighth of
 * the session. false: it does not fit: it must be CLI_GRACE_LEAST to a quarter of it. */
bool cli_grace(double session, double asked, double *grace);

#endif
