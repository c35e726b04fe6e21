/* SPDX-License-Identifier: MIT */
/* The simulation as a program:
 *   simulation SECONDS [FIRST]        seeds from FIRST on, for so long; those that fail are made
 *                                     shorter
 *   simulation SECONDS FIRST stop     as above, but the first that fails is the last, and the
 *                                     seconds are those of a processor
 *   simulation seed N [KEEP]          one seed, told step by step; of its deeds only those in KEEP:
 *                                     3,17,40
 *   simulation costs [FILE]           what the first histories ask for; held to what FILE says
 *   simulation costs each             the same, with a line for each history
 * With HISTORY=FILE in the environment the first three write what callers were told into it
 * (journal.h). Before it runs many it runs the histories that failed once (known.c). Behind every
 * second seed it runs that seed's history with many lines (history.h), whose number is larger by
 * 2^47, and behind the others the one with marks of mutexes, whose number is larger by 2^46; behind
 * every eighth, one with the servers of ClickHouse Keeper, whose number is larger by 2^45. */
#include "costs.h"
#include "history.h"
#include "journal.h"
#include "known.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT 60        /* seconds for a history, which takes some thousandths of one */
#define SHORTENING 20.0 /* seconds for making one that fails shorter */
#define LITTLE 3        /* a history that grants no more tries nothing */

/* Seeds that have one of these are of histories of another kind. */
#define KINDS (SIM_MANY_LINES | SIM_MARKS | SIM_KEEPER)

/* The report to its parent of the child that runs histories. */
typedef struct report {
    volatile uint64_t seed;
    volatile uint64_t histories, little;
    volatile double spent; /* seconds of a processor */
    sim_count sum;
} report;

static report *shared;
static FILE *said;
static sim_plan plan;
static FILE *history; /* NULL: nobody wants one */

static void must(bool good) {
    if (!good) {
        perror("simulation");
        exit(2);
    }
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- one that fails ---- */

static void begin_saying(void) {
    must(ftruncate(fileno(said), 0) == 0);
    rewind(said);
}

static void into_file(void) {
    must(dup2(fileno(said), STDOUT_FILENO) >= 0);
    must(dup2(fileno(said), STDERR_FILENO) >= 0);
}

/* The last line, without the numbers, which change as the history does. */
static void read_reason(char *reason, size_t size, bool whole) {
    char line[512] = "";
    size_t n = 0;
    rewind(said);
    while (fgets(line, sizeof line, said))
        continue;
    const char *p = line + strspn(line, " 0123456789.");
    for (; *p && *p != '\n' && n + 1 < size; p++)
        if (whole || !strchr("0123456789abcdef", *p))
            reason[n++] = *p;
    reason[n] = '\0';
}

static bool fails(const sim_plan *p, char *reason, size_t size) {
    begin_saying();
    fflush(stdout);
    const pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        into_file();
        alarm(LIMIT);
        sim_history_run(p);
        exit(0);
    }
    int status;
    must(waitpid(pid, &status, 0) == pid);
    read_reason(reason, size, false);
    return status != 0;
}

/* Leaves out as many deeds as can be, larger pieces first, as long as it fails for the same
 * reason. */
static unsigned shorten(sim_plan *p) {
    char reason[512], again[512];
    const unsigned deeds = sim_history_deeds(p->seed);
    const double until = seconds_now() + SHORTENING;
    unsigned kept = deeds;
    if (!fails(p, reason, sizeof reason))
        return deeds;
    for (unsigned piece = deeds / 2; piece > 0; piece /= 2)
        for (unsigned first = 0; first < deeds && seconds_now() < until; first += piece) {
            sim_plan less = *p;
            unsigned more = 0;
            for (unsigned i = first; i < first + piece && i < deeds; i++) {
                more += !less.dropped[i];
                less.dropped[i] = true;
            }
            if (!more || !fails(&less, again, sizeof again) || strcmp(reason, again) != 0)
                continue;
            *p = less;
            kept -= more;
        }
    return kept;
}

static void tell_failure(uint64_t seed) {
    char reason[512];
    plan = (sim_plan){.seed = seed};
    read_reason(reason, sizeof reason, true);
    printf("\nFAILED  seed %" PRIu64 ": %s\n", seed, reason);
    fflush(stdout);
    const unsigned deeds = sim_history_deeds(seed), kept = shorten(&plan);
    printf("        of its %u deeds these %u do it: make sim SEED=%" PRIu64 " KEEP=", deeds, kept,
           seed);
    const char *comma = "";
    for (unsigned i = 0; i < deeds; i++)
        if (!plan.dropped[i]) {
            printf("%s%u", comma, i);
            comma = ",";
        }
    printf("\n");
    fflush(stdout);
}

/* ---- many ---- */

static void add(sim_count *sum, const sim_count *one) {
    sum->steps += one->steps;
    sum->faults += one->faults;
    sum->grants += one->grants;
    sum->sessions += one->sessions;
    sum->losses += one->losses;
}

static double processor_now(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* A run that stops at the first that fails has to try as much on a machine that has much to do:
 * its seconds are the processor's. */
static bool is_time_left(double until, bool stops) {
    return (stops ? processor_now() : seconds_now()) < until;
}

static void run_next(uint64_t seed) {
    const double before = processor_now();
    begin_saying();
    shared->seed = seed;
    plan.seed = seed;
    alarm(LIMIT);
    sim_history_run(&plan);
    shared->histories++;
    shared->little += sim_counted.grants <= LITTLE;
    add(&shared->sum, &sim_counted);
    shared->spent += processor_now() - before;
}

static void run_on(uint64_t seed, double until, bool stops) {
    plan = (sim_plan){.seed = seed};
    sim_journal_to(history);
    into_file();
    for (; is_time_left(until, stops); seed++) {
        run_next(seed);
        if (!(seed & KINDS))
            run_next(seed | (seed % 2 ? SIM_MARKS : SIM_MANY_LINES));
        if (!(seed & KINDS) && seed % 8 == 0)
            run_next(seed | (seed % 16 ? SIM_KEEPER : SIM_KEEPER | SIM_MANY_LINES));
    }
    exit(0); /* so that what was covered is written down */
}

/* By time of a processor: others may have it, too. */
static void tell_progress(double passed, unsigned failed, const char *end) {
    const sim_count *c = &shared->sum;
    const double spent = shared->spent > 0 ? shared->spent : 1;
    printf("%s%4.0f s: %" PRIu64 " histories (%.0f a second of processor; %" PRIu64
           " tried nothing), %.1f million steps (%.0f thousand a second), %" PRIu64
           " faults, %" PRIu64 " grants, %" PRIu64 " losses, %" PRIu64 " sessions, %u failed%s",
           isatty(STDOUT_FILENO) ? "\r\033[K" : "", passed, shared->histories,
           (double)shared->histories / spent, shared->little, (double)c->steps / 1e6,
           (double)c->steps / 1e3 / spent, c->faults, c->grants, c->losses, c->sessions, failed,
           end);
    fflush(stdout);
}

/* The child's status; a line of progress each second where somebody looks. */
static int await_child(pid_t pid, double began, unsigned failed) {
    int status;
    double told = seconds_now();
    while (waitpid(pid, &status, WNOHANG) == 0) {
        poll(NULL, 0, 20); /* nanosleep would be the simulated machine's, and take no time */
        if (isatty(STDOUT_FILENO) && seconds_now() > told + 1) {
            told = seconds_now();
            tell_progress(told - began, failed, "");
        }
    }
    return status;
}

/* ---- one ---- */

/* Only those of "3,17,40" are left. */
static void keep_only(const char *list) {
    for (unsigned i = 0; i < DEEDS_MOST; i++)
        plan.dropped[i] = true;
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        const unsigned i = (unsigned)strtoul(p, NULL, 10);
        if (i < DEEDS_MOST)
            plan.dropped[i] = false;
    }
}

static int run_one(const char *seed, const char *keep) {
    plan.seed = strtoull(seed, NULL, 10);
    if (keep && *keep)
        keep_only(keep);
    sim_tracing = true;
    sim_journal_to(history);
    setvbuf(stdout, NULL, _IOLBF, 0);
    sim_history_run(&plan);
    printf("%" PRIu64 " steps, %" PRIu64 " faults, %" PRIu64 " grants: nothing is wrong\n",
           sim_counted.steps, sim_counted.faults, sim_counted.grants);
    return 0;
}

static unsigned known_passed, known_failed;

static void run_known(void) {
    char reason[512];
    for (const sim_known *k = sim_known_histories; k->name; k++) {
        plan = (sim_plan){.seed = k->seed};
        if (k->keep)
            keep_only(k->keep);
        const bool good = !fails(&plan, reason, sizeof reason);
        *(good ? &known_passed : &known_failed) += 1;
        printf("%s  %s\n", good ? "ok    " : "FAILED", k->name);
    }
}

static int run_costs(const char *path) {
    if (!path) {
        sim_costs_tell(stdout, false);
        return 0;
    }
    if (strcmp(path, "each") == 0) {
        sim_costs_tell(stdout, true);
        return 0;
    }
    FILE *told = fopen(path, "r");
    must(told != NULL);
    const int status = sim_costs_check(told);
    fclose(told);
    return status;
}

/* ---- for a while ---- */

static int run_many(double seconds, uint64_t first, bool stops) {
    run_known();
    if (stops && known_failed)
        return 1;
    const double began = seconds_now();
    double idle = 0;
    unsigned failed = 0;
    uint64_t next = first;
    while (seconds_now() < began + seconds) {
        fflush(stdout);
        const pid_t pid = fork();
        must(pid >= 0);
        if (pid == 0)
            run_on(next, stops ? seconds : began + seconds, stops);
        if (await_child(pid, began + idle, failed) == 0)
            break;
        if (stops)
            return 1;
        const double before = seconds_now();
        failed++;
        next = (first & KINDS ? shared->seed : shared->seed & ~KINDS) + 1;
        tell_failure(shared->seed);
        idle += seconds_now() - before;
    }
    tell_progress(seconds_now() - began - idle, failed, "\n");
    printf("%" PRIu64 " passed, %u failed\n", shared->histories + known_passed,
           failed + known_failed);
    return failed + known_failed != 0 || shared->histories == 0 ||
           4 * shared->little > shared->histories;
}

/* A history that ends the process leaves no half of a line: it is written as a whole. */
enum { BUFFER = 1 << 23 };

static void open_history(const char *path) {
    if (!path || !*path)
        return;
    history = fopen(path, "w");
    must(history != NULL && setvbuf(history, NULL, _IOFBF, BUFFER) == 0);
}

int main(int argc, char **argv) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(shared != MAP_FAILED);
    said = tmpfile();
    must(said != NULL);
    open_history(getenv("HISTORY"));
    if (argc > 2 && strcmp(argv[1], "seed") == 0)
        return run_one(argv[2], argc > 3 ? argv[3] : NULL);
    if (argc > 1 && strcmp(argv[1], "costs") == 0)
        return run_costs(argc > 2 ? argv[2] : NULL);
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
    if (seconds <= 0) {
        fprintf(stderr, "usage: %s SECONDS [FIRST [stop]] | seed N [KEEP] | costs [each|FILE]\n",
                argv[0]);
        return 2;
    }
    const bool stops = argc > 3 && strcmp(argv[3], "stop") == 0;
    return run_many(seconds, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, stops);
}
