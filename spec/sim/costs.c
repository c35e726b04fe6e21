#include "costs.h"

#include "history.h"
#include "library.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { HISTORIES = 512, LINE_MOST = 256, SHOWN = 5 };

static const sim_op columns[] = {OP_CREATE, OP_DELETE, OP_SET,  OP_MULTI,   OP_SYNC,
                                 OP_GET,    OP_EXISTS, OP_LIST, OP_GET_ACL, OP_UNWATCH};
enum { COLUMNS = sizeof columns / sizeof *columns };

static uint64_t sum_asked[COLUMNS], sum_grants;

static void tell_head(FILE *to) {
    fputs("# What the first histories of the simulation ask the servers for (make costs).\n# seed",
          to);
    for (int i = 0; i < COLUMNS; i++)
        fprintf(to, " %7s", sim_op_name(columns[i]));
    fputs("  grants  losses  seconds\n", to);
}

static void tell_sum(FILE *to) {
    uint64_t all = 0;
    fputs("# all ", to);
    for (int i = 0; i < COLUMNS; i++) {
        fprintf(to, " %7" PRIu64, sum_asked[i]);
        all += sum_asked[i];
    }
    fprintf(to, " %7" PRIu64 ": %.3f requests for each grant\n", sum_grants,
            (double)all / (double)sum_grants);
}

/* A line of the table. */
static void run(uint64_t seed, char *line) {
    static sim_plan plan;
    plan.seed = seed;
    memset(sim_asked, 0, sizeof sim_asked);
    sim_history_run(&plan);
    int n = snprintf(line, LINE_MOST, "%6" PRIu64, seed);
    for (int i = 0; i < COLUMNS; i++) {
        n += snprintf(line + n, LINE_MOST - (size_t)n, " %7" PRIu64, sim_asked[columns[i]]);
        sum_asked[i] += sim_asked[columns[i]];
    }
    snprintf(line + n, LINE_MOST - (size_t)n, " %7" PRIu64 " %7" PRIu64 " %.6f\n",
             sim_counted.grants, sim_counted.losses, zkl_clock_seconds(sim_now));
    sum_grants += sim_counted.grants;
}

void sim_costs_tell(FILE *to) {
    char line[LINE_MOST];
    tell_head(to);
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        run(seed, line);
        fputs(line, to);
    }
    tell_sum(to);
}

/* The next line that is no remark. */
static bool read_line(FILE *told, char *line) {
    while (fgets(line, LINE_MOST, told))
        if (line[0] != '#')
            return true;
    return false;
}

int sim_costs_check(FILE *told) {
    unsigned failed = 0;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        char was[LINE_MOST] = "nothing\n", is[LINE_MOST];
        read_line(told, was);
        run(seed, is);
        if (strcmp(was, is) == 0)
            continue;
        if (failed++ < SHOWN)
            printf("FAILED  what history %" PRIu64 " asks was\n%s        and is\n%s", seed, was,
                   is);
    }
    tell_head(stdout);
    tell_sum(stdout);
    if (failed)
        puts("If that is what was meant: `make costs` writes it down.");
    printf("%u passed, %u failed\n", HISTORIES - failed, failed);
    return failed != 0;
}
