/* SPDX-License-Identifier: MIT */
#include "cli/value.h"

#include "cli/complaint.h"
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

enum { PATH_BYTES = 4096, PATH_COMPONENTS = 128, COMPONENT_BYTES = 255 };

static size_t count_slashes(const char *text) {
    size_t count = 0;
    for (; (text = strchr(text, '/')); text++)
        count++;
    return count;
}

static const char *problem_of_length(const char *path, const char *hosts) {
    const char *chroot = strchr(hosts, '/');
    if (!chroot || !chroot[1])
        chroot = "";
    if (strlen(chroot) + strlen(path) > PATH_BYTES)
        return "it has more than 4096 bytes with the chroot";
    if (count_slashes(chroot) + count_slashes(path) > PATH_COMPONENTS)
        return "it has more than 128 components with the chroot";
    return NULL;
}

static bool has_control(const char *path) {
    for (; *path; path++)
        if ((unsigned char)*path < 0x20 || *path == 0x7f)
            return true;
    return false;
}

static const char *problem_of_component(const char *component, size_t length, cli_path_use use) {
    char name[COMPONENT_BYTES + 1];
    int32_t sequence;
    if (length == 0)
        return "it has an empty component";
    if (length > COMPONENT_BYTES)
        return "it has a component of more than 255 bytes";
    memcpy(name, component, length);
    name[length] = '\0';
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return "it has the component '.' or '..'";
    if ((use == CLI_PATH_LOCK || use == CLI_PATH_CREATE) && zkl_znode_parse(name, &sequence))
        return "a component could be the name of a lock's node";
    return NULL;
}

static const char *problem_of_components(const char *path, cli_path_use use) {
    while (*path) {
        path++; /* the slash */
        const size_t length = strcspn(path, "/");
        const char *problem = problem_of_component(path, length, use);
        if (problem)
            return problem;
        path += length;
    }
    return NULL;
}

const char *cli_path_problem(const char *path, const char *hosts, cli_path_use use) {
    if (path[0] != '/')
        return "it must begin with '/'";
    if (!path[1])
        return use == CLI_PATH_LOCK || use == CLI_PATH_DELETE ? "it must name a node below '/'"
                                                              : NULL;
    if (path[strlen(path) - 1] == '/')
        return "it must not end with '/'";
    if (has_control(path))
        return "it must not contain control characters";
    const char *problem = problem_of_components(path, use);
    if (problem)
        return problem;
    if (use != CLI_PATH_READ && zkl_path_is_reserved(path))
        return "/zookeeper is reserved for the servers";
    if (!zkl_path_is_spelled(path))
        return "it contains a character that ZooKeeper rejects";
    return problem_of_length(path, hosts);
}

int cli_path_check(const char *argument, const char *path, const char *hosts, cli_path_use use) {
    const char *problem = cli_path_problem(path, hosts, use);
    if (!problem)
        return 0;
    return cli_misuse(argument, "path '%s': %s", CLI_SHOWN(path), problem);
}
