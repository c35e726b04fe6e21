/* SPDX-License-Identifier: MIT */
/* who_follow: shows each change of a roster, as it comes. */
#ifndef ZKL_CLI_WHO_FOLLOW_H
#define ZKL_CLI_WHO_FOLLOW_H

#include "cli/who/search.h"

/* Goes on until the process ends, or the servers are away for too long: then it returns an exit
 * code, after a complaint. */
int cli_who_follow(const cli_search *search, cli_connection *connection, bool json);

#endif
