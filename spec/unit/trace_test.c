/* SPDX-License-Identifier: MIT */
/* The trace: a line of the log for each change of a state. */
#include "client/trace.h"
#include "fake_world.h"

#include <stdio.h>
#include <string.h>

static zkl_events announced; /* beside those that the fake takes */
static zkl_log said;
static zkl_tracer tracer;

static void begin(void) {
    fake_world_begin();
    CHECK(zkl_events_init(&announced));
    zkl_log_open(&said, &announced, one->context.clock, false);
    CHECK(zkl_tracer_begin(&tracer, &one->context, &said));
}

static void end(void) {
    fake_world_end();
    zkl_log_close(&said);
    zkl_events_destroy(&announced);
}

static char text[ZKL_LOG_LINE];
static const char *level;
static bool own;

/* The oldest line; "": there is none. */
static const char *line(void) {
    return zkl_log_take_next(&said, &level, &own, text, sizeof text) ? text : "";
}

/* The next line is this, with the node's path behind it. */
static void check_line(const char *change, const char *node) {
    char expected[ZKL_LOG_LINE];
    snprintf(expected, sizeof expected, "%s%s", change, node);
    CHECK_TEXT(line(), expected);
    CHECK_TEXT(level, "debug");
}

static void tells_each_change_from_the_join_to_the_end_of_the_node(void) {
    check_line("0.000 zklock " ZKL_VERSION, "");
    fake_caller *p = fake_holder(one);
    char node[128];
    snprintf(node, sizeof node, "%s", fake_node_of(p));
    check_line("0.000 contender 1: WAITING NONE -> WAITING CREATE_SENT " LINE, "");
    check_line("0.000 contender 1: WAITING CREATE_SENT -> WAITING THERE ", node);
    check_line("0.000 position 1: UNKNOWN -> FIRST ", node);
    char held[ZKL_LOG_LINE];
    snprintf(held, sizeof held, "0.000 contender 1: WAITING THERE -> HELD THERE (token %lld) ",
             (long long)p->token);
    check_line(held, node);
    CHECK_TEXT(line(), "");
    fake_now += 1500 * ZKL_SECOND / 1000;
    fake_release(p);
    fake_settle(one);
    check_line("1.500 contender 1: HELD THERE -> OVER THERE (released) ", node);
    check_line("1.500 contender 1: OVER THERE -> OVER DELETE_DUE ", node);
    check_line("1.500 contender 1: OVER DELETE_DUE -> OVER DELETE_SENT ", node);
    check_line("1.500 contender 1: OVER DELETE_SENT -> OVER THERE ", node);
    check_line("1.500 contender 1: OVER THERE -> OVER NONE ", node);
    CHECK_TEXT(line(), "");
}

/* true: some of the lines that are there begins so. */
static bool tells(const char *beginning) {
    bool found = false;
    while (*line())
        found |= strncmp(text, beginning, strlen(beginning)) == 0;
    return found;
}

static void tells_which_node_a_waiter_follows(void) {
    char follows[ZKL_LOG_LINE], no_more[ZKL_LOG_LINE];
    fake_caller *holder = fake_holder(two);
    const char *node = fake_node_of(holder);
    snprintf(follows, sizeof follows, "0.000 follows 1: NOBODY -> BLOCKER %s", node);
    snprintf(no_more, sizeof no_more, "0.000 follows 1: BLOCKER -> NOBODY %s", node);
    fake_waiter(one);
    CHECK(tells(follows));
    CHECK_INT(fake_release(holder), ZKL_OK);
    fake_settle_all(zk);
    CHECK(tells(no_more));
}

static void tells_why_a_wait_ended(void) {
    fake_holder(two);
    fake_join(one, LINE, 2);
    fake_settle(one);
    fake_beat(one, 2.5);
    CHECK(tells("2.000 contender 1: WAITING THERE -> OVER THERE (timeout) " LINE "/_c_"));
}

static void tells_why_a_hold_ended(void) {
    fake_caller *p = fake_holder(one);
    fake_remove(zk, fake_node_of(p));
    fake_settle(one);
    fake_beat(one, 60);
    CHECK_INT(p->losses, 1);
    while (*line() && !strstr(text, "(lost)"))
        continue;
    CHECK(strstr(text, "contender 1: HELD THERE -> OVER THERE (lost) " LINE "/_c_"));
}

static void names_the_path_as_the_script_does(void) {
    one->context.chroot = strlen("/locks");
    fake_holder(one);
    CHECK(tells("0.000 contender 1: WAITING NONE -> WAITING CREATE_SENT /a"));
    one->context.chroot = 0;
}

static void tells_the_callers_of_a_shared_node(void) {
    fake_caller *p = fake_share(one, LINE, 5);
    fake_settle(one);
    fake_release(p);
    char held[ZKL_LOG_LINE];
    snprintf(held, sizeof held, "0.000 caller 1: WAITING -> HELD (token %lld) " LINE,
             (long long)p->token);
    while (*line() && strcmp(text, held) != 0)
        continue;
    CHECK_TEXT(text, held);
    CHECK(tells("0.000 caller 1: HELD -> OVER (released) " LINE));
}

static void tells_the_head_of_a_multilock_beside_its_parts(void) {
    fake_directory(zk, "/locks/b");
    fake_caller *p = fake_join_all(one, (const char *const[]){LINE, "/locks/b"}, 2, 5);
    fake_settle(one);
    CHECK(fake_held(p));
    unsigned parts = 0, heads = 0;
    while (*line()) {
        parts += strstr(text, " contender: WAITING THERE -> HELD THERE") != NULL;
        heads += strstr(text, " caller 1: WAITING -> HELD (token ") != NULL;
    }
    CHECK_INT(parts, 2);
    CHECK_INT(heads, 1);
}

static void a_change_to_the_same_state_is_none(void) {
    fake_holder(one);
    while (*line())
        CHECK(!strstr(text, "FIRST -> FIRST") && !strstr(text, "NONE -> NONE"));
}

static void says_how_many_lines_are_missing(void) {
    for (unsigned i = 0; i < ZKL_LOG_TRACED + 7; i++)
        zkl_log_trace(&said, "line %u", i);
    check_line("8 lines are missing: nobody took them in time", "");
    for (unsigned i = 7; i < ZKL_LOG_TRACED + 7; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "line %u", i);
        CHECK_TEXT(line(), expected);
    }
    CHECK_TEXT(line(), "");
    zkl_log_trace(&said, "another");
    check_line("another", "");
}

static void a_flood_displaces_no_warning(void) {
    zkl_log_warn(&said, NULL, "a warning");
    for (unsigned i = 0; i < 3 * ZKL_LOG_TRACED; i++)
        zkl_log_trace(&said, "line %u", i);
    CHECK_TEXT(line(), "a warning");
    CHECK_TEXT(level, "warn");
    CHECK(strstr(line(), " lines are missing"));
}

static void warnings_come_in_their_order(void) {
    check_line("0.000 zklock " ZKL_VERSION, "");
    zkl_log_trace(&said, "first");
    zkl_log_warn(&said, NULL, "second");
    zkl_log_trace(&said, "third");
    zkl_log_warn(&said, NULL, "fourth");
    CHECK_TEXT(line(), "first");
    CHECK_TEXT(line(), "second");
    CHECK_TEXT(line(), "third");
    CHECK_TEXT(line(), "fourth");
    CHECK_TEXT(line(), "");
}

static void a_long_path_is_cut_behind_the_change(void) {
    char path[2 * ZKL_LOG_LINE];
    memset(path, 'x', sizeof path);
    memcpy(path, LINE "/", strlen(LINE "/"));
    path[sizeof path - 1] = '\0';
    line();
    fake_join(one, path, 5);
    CHECK_INT(strlen(line()), ZKL_LOG_LINE - 1);
    const char *cut = "0.000 contender 1: WAITING NONE -> WAITING CREATE_SENT " LINE "/xx";
    CHECK(strncmp(text, cut, strlen(cut)) == 0);
}

static void a_log_without_a_trace_has_its_warnings_only(void) {
    zkl_log other;
    zkl_log_open(&other, &announced, one->context.clock, false);
    zkl_log_warn(&other, NULL, "a warning");
    CHECK(zkl_log_take_next(&other, &level, &own, text, sizeof text));
    CHECK(!zkl_log_take_next(&other, &level, &own, text, sizeof text));
    zkl_log_close(&other);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"tells each change from the join to the end of the node",
         tells_each_change_from_the_join_to_the_end_of_the_node},
        {"tells which node a waiter follows", tells_which_node_a_waiter_follows},
        {"tells why a wait ended", tells_why_a_wait_ended},
        {"tells why a hold ended", tells_why_a_hold_ended},
        {"names the path as the script does", names_the_path_as_the_script_does},
        {"tells the callers of a shared node", tells_the_callers_of_a_shared_node},
        {"tells the head of a multilock beside its parts",
         tells_the_head_of_a_multilock_beside_its_parts},
        {"a change to the same state is none", a_change_to_the_same_state_is_none},
        {"says how many lines are missing", says_how_many_lines_are_missing},
        {"a flood displaces no warning", a_flood_displaces_no_warning},
        {"warnings come in their order", warnings_come_in_their_order},
        {"a long path is cut behind the change", a_long_path_is_cut_behind_the_change},
        {"a log without a trace has its warnings only",
         a_log_without_a_trace_has_its_warnings_only},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
