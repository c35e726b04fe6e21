/* SPDX-License-Identifier: MIT */
#include "random_sweep.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT 120 /* seconds for a seed, which takes some hundredths of one */
#define JOBS_MOST 64

typedef struct job {
    pid_t pid; /* 0: none */
    unsigned seed;
    FILE *said;
} job;

static void must(bool good) {
    if (!good) {
        perror("random_sweep");
        exit(2);
    }
}

static void start(job *j, unsigned course, unsigned seed,
                  random_outcome (*run)(unsigned, unsigned)) {
    j->seed = seed;
    j->said = tmpfile();
    must(j->said != NULL);
    fflush(stdout);
    j->pid = fork();
    must(j->pid >= 0);
    if (j->pid > 0)
        return;
    alarm(LIMIT);
    must(dup2(fileno(j->said), STDOUT_FILENO) >= 0);
    const random_outcome outcome = run(course, seed);
    fflush(stdout);
    _exit((int)outcome);
}

static void show(FILE *said) {
    char line[512];
    rewind(said);
    while (fgets(line, sizeof line, said))
        fputs(line, stdout);
}

static void count(job *j, unsigned course, int status, random_tally *tally) {
    const bool ended = WIFEXITED(status);
    if (ended && WEXITSTATUS(status) != RANDOM_FAILED) {
        tally->passed++;
        tally->little += WEXITSTATUS(status) == RANDOM_TRIED_LITTLE;
    } else {
        tally->failed++;
        show(j->said);
        if (!ended)
            printf("course %u, seed %u: ended by signal %d%s\n", course, j->seed, WTERMSIG(status),
                   WTERMSIG(status) == SIGALRM ? ": it does not come to an end" : "");
    }
    fclose(j->said);
    j->pid = 0;
}

/* Whose process ended, or NULL: none is left. */
static job *ended(job *jobs, unsigned count, int *status) {
    const pid_t pid = wait(status);
    for (unsigned i = 0; pid > 0 && i < count; i++)
        if (jobs[i].pid == pid)
            return &jobs[i];
    return NULL;
}

static void show_progress(unsigned course, unsigned done, unsigned seeds, unsigned failed) {
    static time_t told;
    const time_t now = time(NULL);
    if (!isatty(STDERR_FILENO) || (now == told && done < seeds))
        return;
    told = now;
    fprintf(stderr, "\r\033[Kcourse %u: %u of %u seeds, %u failed%s", course, done, seeds, failed,
            done == seeds ? "\r\033[K" : "");
}

void random_sweep(unsigned course, unsigned seeds,
                  random_outcome (*run)(unsigned course, unsigned seed), random_tally *tally) {
    job jobs[JOBS_MOST] = {{0}};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned count_most = processors < 1           ? 1
                                : processors > JOBS_MOST ? JOBS_MOST
                                                         : (unsigned)processors;
    random_tally here = {0, 0, 0};
    unsigned next = 1;
    int status;
    for (unsigned i = 0; i < count_most && next <= seeds; i++)
        start(&jobs[i], course, next++, run);
    for (job *j; (j = ended(jobs, count_most, &status));) {
        count(j, course, status, &here);
        if (next <= seeds)
            start(j, course, next++, run);
        show_progress(course, here.passed + here.failed, seeds, here.failed);
    }
    printf("course %u: %u passed, %u of which tried little, %u failed\n", course, here.passed,
           here.little, here.failed);
    tally->passed += here.passed;
    tally->failed += here.failed;
    tally->little += here.little;
}
