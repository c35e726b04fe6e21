/* SPDX-License-Identifier: MIT */
#include "costs.h"

#include "history.h"
#include "library.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { LINE_MOST = 256 };

/* Histories from a seed on; the first of them are shown alone. */
typedef struct group {
    const char *name; /* of the line for all */
    uint64_t first, count, shown;
} group;

static const group groups[] = {
    {"all", 1, 512, 16},
    {"lines", SIM_MANY_LINES + 1, 64, 8},
};
enum { GROUPS = sizeof groups / sizeof *groups };

static const sim_op columns[] = {OP_CREATE, OP_DELETE, OP_SET,  OP_MULTI,   OP_SYNC,
                                 OP_GET,    OP_EXISTS, OP_LIST, OP_GET_ACL, OP_UNWATCH};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* The costs of one history, or of all of them. */
typedef struct costs {
    uint64_t asked[COLUMNS], grants, losses;
    zkl_nanos lasted;
} costs;

static void tell_head(FILE *to) {
    fprintf(
        to,
        "# What histories 1 to %d of the simulation ask the servers for, and the first %d of\n"
        "# them alone; and then those with many lines, from seed 2^47 + 1 on (make costs).\n# seed",
        (int)groups[0].count, (int)groups[0].shown);
    for (int i = 0; i < COLUMNS; i++)
        fprintf(to, " %8s", sim_op_name(columns[i]));
    fputs("  grants  losses        seconds\n", to);
}

static void print(char *line, const char *of, const costs *c) {
    int n = snprintf(line, LINE_MOST, "%6s", of);
    for (int i = 0; i < COLUMNS; i++)
        n += snprintf(line + n, LINE_MOST - (size_t)n, " %8" PRIu64, c->asked[i]);
    snprintf(line + n, LINE_MOST - (size_t)n, " %7" PRIu64 " %7" PRIu64 " %14.6f\n", c->grants,
             c->losses, zkl_clock_seconds(c->lasted));
}

static void add(costs *sum, const costs *one) {
    for (int i = 0; i < COLUMNS; i++)
        sum->asked[i] += one->asked[i];
    sum->grants += one->grants;
    sum->losses += one->losses;
    sum->lasted += one->lasted;
}

static void run(uint64_t seed, costs *c) {
    static sim_plan plan;
    plan.seed = seed;
    memset(sim_asked, 0, sizeof sim_asked);
    sim_history_run(&plan);
    for (int i = 0; i < COLUMNS; i++)
        c->asked[i] = sim_asked[columns[i]];
    c->grants = sim_counted.grants;
    c->losses = sim_counted.losses;
    c->lasted = sim_now;
}

static void tell_rate(FILE *to, const group *g, const costs *sum) {
    uint64_t all = 0;
    for (int i = 0; i < COLUMNS; i++)
        all += sum->asked[i];
    fprintf(to, "# %s: %.3f requests for each grant\n", g->name, (double)all / (double)sum->grants);
}

typedef void tell_line(void *ctx, const char *line);

/* A line for each of the first histories, and one for all. */
static void each_line(const group *g, bool each, tell_line *tell, void *ctx, costs *sum) {
    char line[LINE_MOST], seed[24];
    costs one;
    for (uint64_t i = 0; i < g->count; i++) {
        run(g->first + i, &one);
        add(sum, &one);
        snprintf(seed, sizeof seed, "%" PRIu64, (g->first + i) & ~SIM_MANY_LINES);
        print(line, seed, &one);
        if (each || i < g->shown)
            tell(ctx, line);
    }
    print(line, g->name, sum);
    tell(ctx, line);
}

static void each_group(FILE *to, bool each, tell_line *tell, void *ctx) {
    costs sums[GROUPS] = {0};
    tell_head(to);
    for (int i = 0; i < GROUPS; i++)
        each_line(&groups[i], each, tell, ctx, &sums[i]);
    for (int i = GROUPS - 1; i >= 0; i--)
        tell_rate(to, &groups[i], &sums[i]);
}

static void write_line(void *ctx, const char *line) {
    fputs(line, ctx);
}

void sim_costs_tell(FILE *to, bool each) {
    each_group(to, each, write_line, to);
}

typedef struct check {
    FILE *told;
    unsigned passed, failed;
} check;

/* The next line that is no remark. */
static bool read_line(FILE *told, char *line) {
    while (fgets(line, LINE_MOST, told))
        if (line[0] != '#')
            return true;
    return false;
}

static void compare(void *ctx, const char *is) {
    check *c = ctx;
    char was[LINE_MOST] = "nothing\n";
    read_line(c->told, was);
    if (strcmp(was, is) == 0) {
        c->passed++;
        return;
    }
    c->failed++;
    printf("FAILED  expected  %s        got       %s", was, is);
}

int sim_costs_check(FILE *told) {
    check c = {.told = told};
    each_group(stdout, false, compare, &c);
    if (c.failed)
        puts("If the change is intended, `make costs` updates the file. If only \"all\" differs,\n"
             "compare `build/sim/simulation costs each` of the two versions.");
    printf("%u passed, %u failed\n", c.passed, c.failed);
    return c.failed != 0;
}
