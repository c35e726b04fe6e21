/* SPDX-License-Identifier: MIT */
#include "cli/grace.h"

static double by_default(double session) {
    const double eighth = session / 8;
    if (eighth > CLI_GRACE_MOST)
        return CLI_GRACE_MOST;
    return eighth < CLI_GRACE_LEAST ? CLI_GRACE_LEAST : eighth;
}

bool cli_grace(double session, double asked, double *grace) {
    *grace = asked >= 0 ? asked : by_default(session);
    return *grace >= CLI_GRACE_LEAST && *grace <= session / 4;
}
