/* SPDX-License-Identifier: MIT */
/* random_world: schedules that nobody has thought of: two clients and some strangers, and a fake
 * that loses, cuts, lags, expires, refuses and deletes at random. The test says what is joined, and
 * what must be true of it: a random_play. A failure prints the course, the seed and the step;
 * with the first two as arguments the program runs that course alone, and with `sweep SEEDS
 * [COURSE]` every course, or that one, with so many seeds. */
#ifndef RANDOM_WORLD_H
#define RANDOM_WORLD_H

#include "fake_world.h"

/* A course is a set of these. */
enum {
    CUT = 1,
    EXPIRE = 2,
    LAG = 4,
    OPERATOR = 8,
    REFUSE = 16,
    RELINK = 32,
    SLOW = 64,    /* time passes, trust runs out */
    SHARED = 128, /* the test's own: readers and writers in the place of a mutex */
    QUORUM = 256, /* the servers end sessions by the leader's clock, and leaders are deposed */
    NARROW = 512, /* there is room for very few watches */
    TURNS = 1024, /* the test's own: callers share nodes */
};

typedef struct random_play {
    const char *const *directories; /* where nodes stand */
    size_t directory_count;
    unsigned steps, seeds; /* of each course */
    void (*begin)(unsigned seed);
    void (*join)(fake_client *client);
    void (*stranger)(const char *directory); /* one comes, or goes */
    void (*check)(void);                     /* what must be true after every step */
    void (*rest)(void);                      /* ... and when faults have been off for a while */
    const check_case *more;                  /* cases beyond the common courses */
    size_t more_count;
} random_play;

/* The return value of main. */
int random_main(const random_play *play, int argc, char **argv);
/* All seeds of a course. */
void random_run(unsigned kinds);

/* ---- for the play ---- */

extern unsigned random_faults; /* of the running course */

unsigned random_any(unsigned below);
/* Patience for a wait: for ever, or not. */
double random_seconds(void);

/* NULL: nobody of ours has that node, or not any more. */
const zkl_contender *random_contender(const char *directory, const char *name);
/* Its node in the tree; NULL: it is not there. */
fake_node *random_node(const zkl_contender *c);
/* The path of a stranger's node there; NULL: none. */
const char *random_stranger(const char *directory);
/* The name of the node with the smallest sequence; NULL: none. */
const char *random_first(const char *directory);
/* Nobody is before it, as far as it could know. */
bool random_is_first(const zkl_contender *c);
/* A stranger comes with a number of its own choice, that the servers would not have given it;
 * perhaps with the GUID of somebody who is there. */
void random_stray(const char *directory);
/* Name, sequence and kind of a node. */
zkl_kind random_parse(const char *name, zkl_child *child);

/* The client of a holder: it does not trust a session that is over. */
void random_check_validity(const fake_client *client);
/* The node of a shared node that is held, or NULL, if an operator or the end of the session took it
 * unheard. */
fake_node *random_check_node(const fake_client *client, const zkl_contender *held);
/* Nobody is before that node but nodes of its own session that are on their way out, and those that
 * are `excused`. */
void random_check_first(const zkl_contender *held,
                        bool (*excused)(const char *name, const zkl_contender *before));

#endif
