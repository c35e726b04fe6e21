/* SPDX-License-Identifier: MIT */
/* The evidence of answers, link by link. In hundredths of the session timeout. */
#include "check.h"
#include "recipe/validity.h"

#include <stdlib.h>
#include <zookeeper/zookeeper.h>

#define T (INT64_C(10) * ZKL_SECOND)
#define AT(hundredths) (T * 100 + T / 100 * (hundredths))
#define UNTIL(hundredths) (AT(hundredths) + T / 100 * 98)

static zkl_validity_proof validity;

static void connected(zkl_nanos root, zkl_nanos timeout, bool fresh) {
    const zkl_grant grant = {root, timeout, timeout, fresh};
    zkl_validity_connected(&validity, &grant);
}

static void begin(void) {
    connected(AT(0), T, true);
}

static void told(zkl_proof proof, int handed, int answered) {
    zkl_validity_answered(&validity, proof, AT(handed), AT(answered));
}

static void sync_(int handed, int answered) {
    told(ZKL_PROOF_LEADER, handed, answered);
}

static void write_(int handed, int answered) {
    told(ZKL_PROOF_QUORUM, handed, answered);
}

/* So that what follows is the chain's alone, and the session is known to live: until 98. */
static void begin_with_a_write(void) {
    begin();
    write_(1, 2);
    CHECK_INT(validity.until, UNTIL(0));
}

/* ---- the connection ---- */

static void of_what_came_before_a_connection_nothing_is_the_latest(void) {
    begin_with_a_write();
    CHECK_INT(zkl_validity_latest(&validity), AT(1));
    connected(AT(50), T, false);
    CHECK_INT(zkl_validity_latest(&validity), 0);
}

/* Nothing was proven since; after a sync it is a write's turn as well, after a write it is not. */
static void what_begins_anew_begins_with_a_write(void) {
    begin();
    CHECK(zkl_validity_wants_write(&validity));
    sync_(1, 2);
    CHECK(zkl_validity_wants_write(&validity));
    write_(10, 11);
    CHECK(!zkl_validity_wants_write(&validity));
    sync_(20, 21);
    CHECK(zkl_validity_wants_write(&validity));
    write_(30, 31);
    connected(AT(40), T, false);
    CHECK(zkl_validity_wants_write(&validity));
    write_(50, 51);
    zkl_validity_doubt(&validity);
    CHECK(zkl_validity_wants_write(&validity));
    CHECK_INT(zkl_validity_latest(&validity), 0);
}

static void a_connection_alone_proves_nothing(void) {
    begin();
    CHECK_INT(validity.until, 0);
    sync_(1, 2);
    CHECK_INT(validity.until, 0);
}

static void the_first_write_proves_the_connection(void) {
    begin();
    write_(20, 90);
    CHECK_INT(validity.until, UNTIL(0));
    write_(21, 91);
    CHECK_INT(validity.until, UNTIL(0)); /* only the first */
}

static void a_new_connection_takes_nothing_away(void) {
    begin_with_a_write();
    connected(AT(10), T, false);
    CHECK_INT(validity.until, UNTIL(0));
    write_(12, 13);
    CHECK_INT(validity.until, UNTIL(10));
}

/* Nor if it was begun before the latest request that was answered. */
static void nor_does_one_that_was_begun_earlier(void) {
    begin_with_a_write();
    sync_(20, 21);
    sync_(51, 52);
    write_(61, 62);
    CHECK_INT(validity.until, UNTIL(20));
    connected(AT(10), T, false);
    CHECK_INT(validity.until, UNTIL(20));
}

/* The validity ends before the shorter timeout does. */
static void nor_does_a_shorter_session_if_that_is_later(void) {
    begin_with_a_write();
    connected(AT(60), T / 2, false);
    CHECK_INT(validity.until, UNTIL(0));
}

static void chains_do_not_reach_over_connections(void) {
    begin_with_a_write();
    sync_(10, 11);
    connected(AT(5), T, false);
    sync_(45, 46);
    write_(60, 61);
    CHECK_INT(validity.until, UNTIL(5));
    write_(85, 86);
    CHECK_INT(validity.until, UNTIL(5)); /* 45 to 60 is too short for a ping */
    write_(95, 96);
    CHECK_INT(validity.until, UNTIL(45));
}

static void a_shorter_session_is_believed_in_for_less(void) {
    begin_with_a_write();
    connected(AT(10), T / 2, false);
    CHECK_INT(validity.until, AT(10) + T / 100 * 49);
    write_(12, 13);
    CHECK_INT(validity.until, AT(10) + T / 100 * 49);
    connected(AT(20), T, false); /* the leader to come counts the least */
    write_(22, 23);
    CHECK_INT(validity.until, AT(20) + T / 100 * 49);
}

static void what_is_over_is_forgotten(void) {
    begin_with_a_write();
    zkl_validity_doubt(&validity);
    CHECK_INT(validity.until, 0);
    CHECK_INT(validity.timeout, T);
    connected(AT(10), 2 * T, false);
    write_(11, 12);
    CHECK_INT(validity.until, UNTIL(10));
    connected(AT(20), 2 * T, true);
    CHECK_INT(validity.timeout, 2 * T);
    CHECK_INT(validity.until, 0);
}

/* ---- a grant of which less is believed ---- */

/* The servers ping in the time that they have granted. */
static void the_gaps_of_a_chain_go_by_what_was_granted(void) {
    zkl_validity_connected(&validity, &(zkl_grant){AT(0), 2 * T, T, true});
    CHECK_INT(validity.timeout, T);
    write_(1, 2);
    CHECK_INT(validity.until, UNTIL(0)); /* not longer than is believed */
    sync_(20, 21);
    sync_(52, 53); /* 0.3 of what is believed, and not of what was granted */
    write_(78, 79);
    CHECK_INT(validity.until, UNTIL(0));
    sync_(82, 83);
    write_(99, 100);
    CHECK_INT(validity.until, UNTIL(1)); /* 1, 78 and 99; 82 is a twelfth of T before, not of 2 T */
    write_(100, 101);
    CHECK_INT(validity.until, UNTIL(20)); /* 20, 82 and 100 */
}

/* A later connection may be granted more, and the leader to come counts the least. */
static void the_least_grant_counts(void) {
    zkl_validity_connected(&validity, &(zkl_grant){AT(0), 2 * T, T, true});
    zkl_validity_connected(&validity, &(zkl_grant){AT(1), 3 * T, T, false});
    CHECK_INT(validity.granted, 2 * T);
    zkl_validity_connected(&validity, &(zkl_grant){AT(2), T / 2, T / 2, false});
    CHECK_INT(validity.granted, T / 2);
    CHECK_INT(validity.timeout, T / 2);
    zkl_validity_connected(&validity, &(zkl_grant){AT(3), 2 * T, T, false});
    CHECK_INT(validity.granted, T / 2);
    CHECK_INT(validity.timeout, T / 2);
}

/* ---- chains ---- */

static void a_chain_of_three_proves_its_beginning(void) {
    begin_with_a_write();
    sync_(20, 21);
    sync_(51, 52);
    CHECK_INT(validity.until, UNTIL(0));
    write_(61, 80);
    CHECK_INT(validity.until, UNTIL(20)); /* when the answer was read does not matter */
}

static void a_chain_wants_a_pings_time_in_it(void) {
    begin_with_a_write();
    sync_(20, 25);
    sync_(54, 55);
    write_(70, 71);
    CHECK_INT(validity.until, UNTIL(1)); /* the write at the beginning, and 54 */
    sync_(71, 72);
    write_(81, 82);
    CHECK_INT(
        validity.until,
        UNTIL(20)); /* 72 is not before 81 by a twelfth; 70 is behind 25 by more than enough */
}

static void a_chain_wants_a_pause_at_its_end(void) {
    begin_with_a_write();
    sync_(20, 21);
    sync_(51, 53);
    write_(61, 62);
    CHECK_INT(validity.until, UNTIL(0));
    write_(62, 63);
    CHECK_INT(validity.until, UNTIL(20));
}

static void a_chain_wants_a_write_in_it(void) {
    begin_with_a_write();
    for (int at = 20; at < 500; at += 10)
        sync_(at, at + 1);
    CHECK_INT(validity.until, UNTIL(1)); /* the one write is itself the beginning of a chain */
    write_(500, 501);
    CHECK_INT(validity.until, UNTIL(450));
}

static void a_write_at_its_beginning_or_in_its_middle_does(void) {
    begin_with_a_write();
    write_(20, 21);
    sync_(52, 53);
    sync_(62, 63);
    CHECK_INT(validity.until, UNTIL(20));
    write_(95, 96);
    CHECK_INT(validity.until, UNTIL(20)); /* 62 and 52 are too near to each other */
    sync_(105, 106);
    CHECK_INT(validity.until, UNTIL(62));
}

static void a_chain_begins_where_the_session_was_known_to_live(void) {
    begin_with_a_write();
    sync_(90, 91); /* nothing was heard for most of the timeout */
    sync_(125, 126);
    write_(140, 141);
    CHECK_INT(validity.until, UNTIL(1));
    sync_(160, 161);
    write_(175, 176);
    CHECK_INT(validity.until, UNTIL(125));
}

static void an_odd_answer_begins_anew(void) {
    begin_with_a_write();
    sync_(20, 21);
    told(ZKL_PROOF_BROKEN, 30, 31);
    CHECK_INT(validity.until, UNTIL(0));
    sync_(51, 52);
    write_(61, 62);
    CHECK_INT(validity.until, UNTIL(0));
}

static void an_answer_that_proves_nothing_changes_nothing(void) {
    begin_with_a_write();
    sync_(20, 21);
    told(ZKL_PROOF_NONE, 30, 31);
    sync_(51, 52);
    write_(61, 62);
    CHECK_INT(validity.until, UNTIL(20));
}

/* A read of ours is no sign of the leader. */
static void nor_does_it_begin_a_chain(void) {
    begin_with_a_write();
    told(ZKL_PROOF_NONE, 20, 21);
    CHECK_INT(zkl_validity_latest(&validity), AT(1));
    sync_(51, 52);
    write_(61, 62);
    CHECK_INT(validity.until, UNTIL(1));
}

static void what_is_believed_is_not_taken_back_by_a_later_answer(void) {
    begin_with_a_write();
    sync_(20, 21);
    sync_(51, 52);
    write_(61, 62);
    CHECK_INT(validity.until, UNTIL(20));
    told(ZKL_PROOF_BROKEN, 63, 64);
    for (int at = 65; at < 90; at += 5) {
        write_(at, at + 1); /* the connection is proven by the first of them, until 98 */
        CHECK_INT(validity.until, UNTIL(20));
    }
}

/* Within half a timeout of the request before: as long as the session is surely alive then. */
static void shortly_is_less_than_half_the_timeout(void) {
    for (int handed = 50; handed <= 51; handed++) {
        begin_with_a_write();
        sync_(handed, 52);
        sync_(85, 86);
        write_(100, 101);
        CHECK_INT(validity.until, handed < 51 ? UNTIL(handed) : UNTIL(1));
    }
    for (int handed = 49; handed <= 50; handed++) { /* or of the connection */
        begin();
        sync_(handed, 51);
        sync_(85, 86);
        write_(100, 101);
        CHECK_INT(validity.until, handed < 50 ? UNTIL(handed) : UNTIL(0));
    }
}

/* The moment of the connection is not known, and the machine has just been started. */
static void what_is_not_known_was_not_at_the_clocks_beginning(void) {
    connected(0, T, true);
    zkl_validity_answered(&validity, ZKL_PROOF_LEADER, T / 10, T / 10 + 1);
    zkl_validity_answered(&validity, ZKL_PROOF_LEADER, T / 2, T / 2 + 1);
    zkl_validity_answered(&validity, ZKL_PROOF_LEADER, T / 10 * 8, T / 10 * 8 + 1);
    zkl_validity_answered(&validity, ZKL_PROOF_QUORUM, T, T + 1);
    CHECK(validity.until != T / 10 + T / 100 * 98);
}

/* ... and what comes then is the first all the same. */
static void whatever_the_clock_says_the_first_is_remembered(void) {
    connected(1, T, true);
    zkl_validity_answered(&validity, ZKL_PROOF_LEADER, T / 100, T / 100 + 1);
    CHECK_INT(zkl_validity_latest(&validity), T / 100);
}

static void two_that_are_close_are_one(void) {
    for (int less = 0; less <= 1; less++) {
        begin();
        sync_(20, 21);
        const zkl_nanos next = AT(20) + ZKL_VALIDITY_GRAIN(T) - less;
        zkl_validity_answered(&validity, ZKL_PROOF_LEADER, next, next + 1);
        CHECK_INT(zkl_validity_latest(&validity), less ? AT(20) : next);
    }
}

/* Each link as short as it may be; a nanosecond less, and it is none. */
static void a_chain_may_be_as_short_as_that(void) {
    for (int less = 0; less <= 1; less++) {
        begin_with_a_write();
        zkl_validity_answered(&validity, ZKL_PROOF_LEADER, AT(20), AT(21));
        zkl_validity_answered(&validity, ZKL_PROOF_LEADER, AT(51) - less, AT(52));
        zkl_validity_answered(&validity, ZKL_PROOF_QUORUM, AT(70), AT(71));
        CHECK_INT(validity.until, less ? UNTIL(1) : UNTIL(20));
    }
    for (int less = 0; less <= 1; less++) {
        begin_with_a_write();
        zkl_validity_answered(&validity, ZKL_PROOF_LEADER, AT(20), AT(21));
        zkl_validity_answered(&validity, ZKL_PROOF_LEADER, AT(55), AT(56));
        zkl_validity_answered(&validity, ZKL_PROOF_QUORUM, AT(56) + T / 12 - less, AT(80));
        CHECK_INT(validity.until, less ? UNTIL(0) : UNTIL(20));
    }
}

/* ---- much of it ---- */

#define MANY 4000
static struct {
    zkl_nanos handed, answered;
    bool write;
} all[MANY];

/* The same rule over all answers; the memory may only make it smaller, and by little. */
static zkl_nanos all_of_them(size_t c) {
    bool write = all[c].write;
    size_t j = c;
    for (size_t i = c; i-- > 0;) {
        const bool founded = i == 0 || all[i].handed < all[i - 1].handed + T / 2;
        write = write || all[i].write;
        if (founded && write && j < c && all[j].handed >= all[i].answered + T / 10 * 3)
            return all[i].handed + T / 100 * 98;
        if (j == c && all[c].handed >= all[i].answered + T / 12)
            j = i; /* the newest that may be it */
    }
    return 0;
}

static void a_flood_of_answers_is_remembered_well_enough(void) {
    for (unsigned pace = 1; pace <= 4096; pace *= 4) {
        begin_with_a_write();
        srand(pace);
        zkl_nanos now = AT(3), best = 0, before = 0;
        for (size_t n = 0; n < MANY; n++) {
            const zkl_nanos step = T / 5000 * (zkl_nanos)pace;
            all[n].handed = now += step * (rand() % 3) / 2 + 1;
            all[n].answered = now + T / 200 * (rand() % 3);
            all[n].write = rand() % 4 == 0;
            zkl_validity_answered(&validity, all[n].write ? ZKL_PROOF_QUORUM : ZKL_PROOF_LEADER,
                                  all[n].handed, all[n].answered);
            const zkl_nanos sound = all_of_them(n);
            best = best < sound ? sound : best;
            CHECK(validity.until >= before);
            before = validity.until;
            CHECK(validity.until <= (best > UNTIL(1) ? best : UNTIL(1)));
            CHECK(validity.until >= best - T / 8 || step > T / 10);
        }
    }
}

/* ---- answers ---- */

static void what_answers_prove(void) {
    static const struct {
        zkl_reach reach;
        int rc;
        zkl_proof proof;
    } table[] = {
        {ZKL_REACH_SERVER, ZOK, ZKL_PROOF_NONE},
        {ZKL_REACH_SERVER, ZSESSIONMOVED, ZKL_PROOF_NONE},
        {ZKL_REACH_LEADER, ZOK, ZKL_PROOF_LEADER},
        {ZKL_REACH_LEADER, ZCONNECTIONLOSS, ZKL_PROOF_NONE},
        {ZKL_REACH_LEADER, ZTHROTTLEDOP, ZKL_PROOF_BROKEN},
        {ZKL_REACH_QUORUM, ZOK, ZKL_PROOF_QUORUM},
        {ZKL_REACH_QUORUM, ZNONODE, ZKL_PROOF_NONE},
        {ZKL_REACH_QUORUM, ZNODEEXISTS, ZKL_PROOF_NONE},
        {ZKL_REACH_QUORUM, ZSESSIONEXPIRED, ZKL_PROOF_BROKEN},
        {ZKL_REACH_QUORUM, ZTHROTTLEDOP, ZKL_PROOF_BROKEN},
        {ZKL_REACH_ERASE, ZOK, ZKL_PROOF_QUORUM},
        {ZKL_REACH_ERASE, ZNONODE, ZKL_PROOF_QUORUM},
        {ZKL_REACH_ERASE, ZNOAUTH, ZKL_PROOF_NONE},
        {ZKL_REACH_ERASE, ZSESSIONMOVED, ZKL_PROOF_BROKEN},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        check_note("row %zu", i);
        CHECK_INT(zkl_proof_of(table[i].reach, table[i].rc), table[i].proof);
    }
}

/* The servers did not take it for ours: it is no evidence, nor is what came before it. */
static void what_breaks_a_chain_is_no_part_of_the_next(void) {
    begin_with_a_write();
    CHECK(zkl_validity_latest(&validity) > 0);
    told(ZKL_PROOF_BROKEN, 20, 21);
    CHECK_INT(zkl_validity_latest(&validity), 0);
}

/* A request handed over before there was a server says less of what comes after it than the
 * connection does. */
static void a_chain_may_begin_soon_after_the_connection(void) {
    begin();
    sync_(-10, 2);
    sync_(45, 46);
    write_(80, 81);
    sync_(100, 101);
    CHECK_INT(validity.until, UNTIL(45));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"of what came before a connection nothing is the latest",
         of_what_came_before_a_connection_nothing_is_the_latest},
        {"a new chain begins with a write", what_begins_anew_begins_with_a_write},
        {"a connection alone proves nothing", a_connection_alone_proves_nothing},
        {"the first write proves the connection", the_first_write_proves_the_connection},
        {"a new connection takes nothing away", a_new_connection_takes_nothing_away},
        {"... nor does one that was begun earlier", nor_does_one_that_was_begun_earlier},
        {"... nor does a shorter session, if that is later",
         nor_does_a_shorter_session_if_that_is_later},
        {"chains do not reach over connections", chains_do_not_reach_over_connections},
        {"a session that was shortened is believed in for less",
         a_shorter_session_is_believed_in_for_less},
        {"old answers are forgotten", what_is_over_is_forgotten},
        {"the gaps of a chain go by what was granted", the_gaps_of_a_chain_go_by_what_was_granted},
        {"the least grant counts", the_least_grant_counts},
        {"a chain of three proves its beginning", a_chain_of_three_proves_its_beginning},
        {"a chain wants a ping's time in it", a_chain_wants_a_pings_time_in_it},
        {"a chain wants a pause at its end", a_chain_wants_a_pause_at_its_end},
        {"a chain wants a write in it", a_chain_wants_a_write_in_it},
        {"... at its beginning, or in its middle", a_write_at_its_beginning_or_in_its_middle_does},
        {"a chain begins where the session was known to live",
         a_chain_begins_where_the_session_was_known_to_live},
        {"an odd answer begins anew", an_odd_answer_begins_anew},
        {"an answer that proves nothing changes nothing",
         an_answer_that_proves_nothing_changes_nothing},
        {"... nor does it begin a chain", nor_does_it_begin_a_chain},
        {"a later answer never shortens validity",
         what_is_believed_is_not_taken_back_by_a_later_answer},
        {"shortly is less than half the timeout", shortly_is_less_than_half_the_timeout},
        {"what is not known was not at the clock's beginning",
         what_is_not_known_was_not_at_the_clocks_beginning},
        {"whatever the clock says, the first is remembered",
         whatever_the_clock_says_the_first_is_remembered},
        {"two that are close are one", two_that_are_close_are_one},
        {"a chain may be as short as that", a_chain_may_be_as_short_as_that},
        {"a flood of answers is remembered well enough",
         a_flood_of_answers_is_remembered_well_enough},
        {"each kind of answer proves what its table says", what_answers_prove},
        {"what breaks a chain is no part of the next", what_breaks_a_chain_is_no_part_of_the_next},
        {"a chain may begin soon after the connection",
         a_chain_may_begin_soon_after_the_connection},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
