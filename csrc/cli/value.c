/* SPDX-License-Identifier: MIT */
#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

#define SECONDS_MOST 1e12 /* where an option has no bound of its own */

/* Seconds in the unit with that name; 0: there is none. */
static double unit_of(const char *name) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].seconds;
    return 0;
}

/* strtod also takes hexadecimals, exponents, words, signs and spaces, none of which are meant. */
bool cli_number_seconds(const char *text, double *seconds) {
    static const char digits[] = "0123456789";
    const size_t whole = strspn(text, digits);
    const size_t point = text[whole] == '.';
    const size_t fraction = point ? strspn(text + whole + 1, digits) : 0;
    const double unit = unit_of(text + whole + point + fraction);
    if (whole + fraction == 0 || unit <= 0)
        return false;
    *seconds = strtod(text, NULL) * unit; /* main keeps LC_NUMERIC at "C" */
    return true;
}

bool cli_number_whole(const char *text, int64_t least, int64_t most, int64_t *number) {
    char *end;
    const size_t sign = text[0] == '-';
    if (text[sign] < '0' || text[sign] > '9')
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && !*end && *number >= least && *number <= most;
}

int cli_number_seconds_of(const char *option, const char *text, cli_seconds range,
                          double *seconds) {
    const bool good = cli_number_seconds(text, seconds);
    const bool enough = good && (*seconds > 0 || !range.positive);
    const double most = range.most > 0 ? range.most : SECONDS_MOST;
    if (enough && *seconds <= most)
        return 0;
    if (!enough)
        return cli_misuse(option, "seconds %s 0 expected, got '%s'%s",
                          range.positive ? "above" : ">=", CLI_SHOWN(text),
                          good ? "" : "; the units are ms, s, m, h and d");
    return cli_misuse(option, "seconds %s %.0f expected, got '%s'",
                      range.positive ? "above 0 and up to" : "from 0 to", most, CLI_SHOWN(text));
}

int cli_number_whole_of(const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *number) {
    if (cli_number_whole(text, least, most, number))
        return 0;
    return cli_misuse(option, "integer from %" PRId64 " to %" PRId64 " expected, got '%s'", least,
                      most, CLI_SHOWN(text));
}

/* ---- paths ---- */

int cli_path_check(const char *argument, const char *path, const char *hosts, zkl_path_use use) {
    const char *chroot = strchr(hosts, '/');
    const char *problem = zkl_path_problem(path, chroot && chroot[1] ? chroot : "", use);
    if (!problem)
        return 0;
    return cli_misuse(argument, "path '%s': %s", CLI_SHOWN(path), problem);
}
