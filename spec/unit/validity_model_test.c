/* SPDX-License-Identifier: MIT */
/* usage: validity_model_test [SCHEDULES], or: validity_model_test trace SCHEDULE
 *
 * The rule that validity goes by, against every schedule that a search comes to: a session that is
 * believed in has not been ended. Beside it the rules that looked as good, each of which the search
 * must see broken: else it sees nothing. */
#include "check.h"
#include "quorum_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T MODEL_TIMEOUT
#define SCHEDULES 6000

static const model_answer *newest(const model_news *news) {
    return news->count && !news->connected ? &news->answers[news->count - 1] : NULL;
}

static bool proves(const model_answer *a) {
    return a->proof == ZKL_PROOF_LEADER || a->proof == ZKL_PROOF_QUORUM;
}

/* ---- rules that fail ---- */

static zkl_nanos any_answer(const model_news *news) {
    const model_answer *a = newest(news);
    return a && proves(a) ? a->handed + T * 2 / 3 : 0;
}

static zkl_nanos writes_only(const model_news *news) {
    const model_answer *a = newest(news);
    return a && a->proof == ZKL_PROOF_QUORUM ? a->handed + T * 2 / 3 : 0;
}

/* A write some time before that, so that a ping may have been between the two. */
static zkl_nanos with_an_older_write(const model_news *news) {
    const model_answer *a = newest(news);
    if (!a || !proves(a))
        return 0;
    for (size_t i = news->count; i-- > 0;) {
        const model_answer *p = &news->answers[i];
        if (p->connection == a->connection && p->proof == ZKL_PROOF_QUORUM &&
            p->handed <= a->handed - T / 4)
            return p->handed + T < a->handed + T * 2 / 3 ? p->handed + T : a->handed + T * 2 / 3;
    }
    return 0;
}

static zkl_nanos connected_is_enough(const model_news *news) {
    return news->connected ? news->root + T * 98 / 100 : 0;
}

static zkl_nanos connected_is_now(const model_news *news) {
    return news->connected ? news->now + T * 2 / 3 : 0;
}

/* ---- the chain, less one link each ---- */

typedef struct chain {
    zkl_nanos ping, pong;
    bool write, compound;
} chain;

/* The best that any chain gives which the rule takes. */
static zkl_nanos best_chain(const model_news *news, chain rule) {
    const model_answer *a = news->answers, *c = newest(news);
    if (!c || !proves(c))
        return 0;
    const size_t last = news->count - 1;
    size_t first = last;
    while (first > 0 && a[first - 1].connection == c->connection &&
           a[first - 1].proof != ZKL_PROOF_BROKEN)
        first--;
    for (size_t i = last; i-- > first && a[i].handed + T > c->handed;) {
        bool written = c->proof == ZKL_PROOF_QUORUM, found = !rule.compound && proves(&a[i]);
        for (size_t j = i; j < last; j++) {
            written = written || a[j].proof == ZKL_PROOF_QUORUM;
            if (j > i && proves(&a[i]) && proves(&a[j]) &&
                a[j].handed >= a[i].answered + rule.ping && c->handed >= a[j].answered + rule.pong)
                found = true;
        }
        if (found && (written || !rule.write))
            return a[i].handed + T * 98 / 100;
    }
    return 0;
}

static zkl_nanos no_ping_between(const model_news *news) {
    return best_chain(news, (chain){0, T / 12, true, true});
}

static zkl_nanos no_write(const model_news *news) {
    return best_chain(news, (chain){T * 3 / 10, T / 12, false, true});
}

static zkl_nanos only_two(const model_news *news) {
    return best_chain(news, (chain){0, 0, true, false});
}

/* ---- */

static unsigned schedules = SCHEDULES;

static void search(void) {
    model_rule rules[] = {
        {.name = "two thirds from any answer", .until = any_answer},
        {.name = "two thirds from a write's answer", .until = writes_only},
        {.name = "two thirds, and a write before it", .until = with_an_older_write},
        {.name = "connected is enough", .until = connected_is_enough},
        {.name = "connected counts from when it is heard", .until = connected_is_now},
        {.name = "a chain without a ping's time in it", .until = no_ping_between},
        {.name = "a chain without a write", .until = no_write},
        {.name = "a chain of two", .until = only_two},
    };
    const size_t count = sizeof rules / sizeof *rules;
    zkl_nanos sure = 0, lasted = 0;
    unsigned failed = 0, first = 0, ended = 0;
    for (unsigned i = 1; i <= schedules; i++) {
        const model_outcome outcome = model_run(i, MODEL_USUAL, rules, count, false);
        sure += outcome.sure;
        lasted += outcome.lasted;
        ended += outcome.lasted < 8 * T - MODEL_GRAIN;
        if (outcome.violated && !failed++)
            first = i;
    }
    printf("        %u schedules, %u sessions ended, sure for %.0f %% of their lives\n", schedules,
           ended, 100.0 * (double)sure / (double)lasted);
    for (size_t i = 0; i < count; i++)
        printf("        %-40s broken by %u, first by %u\n", rules[i].name, rules[i].violations,
               rules[i].first);
    check_note("%u schedules break it, the first is %u; `validity_model_test trace %u` tells it",
               failed, first, first);
    CHECK_INT(failed, 0);
    for (size_t i = 0; i < count; i++) {
        check_note("not seen broken: %s", rules[i].name);
        CHECK(rules[i].violations > 0);
    }
    CHECK(2 * sure > lasted); /* a heart that is never sure breaks nothing either */
}

/* ---- how long a session must be against the tick, and how much of it is believed ---- */

static unsigned broken_by(model_ensemble ensemble) {
    unsigned broken = 0;
    for (unsigned i = 1; i <= schedules; i++)
        broken += model_run(i, ensemble, NULL, 0, false).violated;
    return broken;
}

/* A ping each half tick is in time for 0.3 T from 1.67 ticks on. Below that servers mostly keep a
 * session for longer than they must, as they end it at a tick: the search finds the first
 * violations at about one tick. */
static void short_sessions(void) {
    static const struct {
        int percent;
        bool safe;
    } table[] = {{300, true}, {170, true}, {60, false}, {30, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const unsigned broken =
            broken_by((model_ensemble){MODEL_TIMEOUT / table[i].percent * 100, MODEL_TIMEOUT});
        printf("        T of %.1f ticks                            broken by %u\n",
               table[i].percent / 100.0, broken);
        check_note("%d percent of a tick", table[i].percent);
        CHECK((broken == 0) == table[i].safe);
    }
}

static void partial_belief(void) {
    for (int percent = 80; percent >= 20; percent -= 20)
        CHECK_INT(broken_by((model_ensemble){MODEL_TICK, MODEL_TIMEOUT / 100 * percent}), 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"no session is believed in after its end", search},
        {"a session of fewer than two ticks may be believed in after its end", short_sessions},
        {"one of which less is believed than was granted is not", partial_belief}};
    if (argc == 3 && strcmp(argv[1], "trace") == 0) {
        model_run((unsigned)atoi(argv[2]), MODEL_USUAL, NULL, 0, true);
        return 0;
    }
    if (argc == 2 && atoi(argv[1]) > 0) {
        schedules = (unsigned)atoi(argv[1]);
        argc = 1;
    }
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
