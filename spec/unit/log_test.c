/* SPDX-License-Identifier: MIT */
/* The log: which lines a host gets, and how often. */
#include "check.h"
#include "zookeeper/log.h"

#include <stdio.h>
#include <string.h>

static zkl_nanos moment;

static zkl_nanos now(void) {
    return moment;
}

static const zkl_clock clock_here = {now};
static zkl_events events;
static zkl_log told;
static char text[ZKL_LOG_LINE];
static const char *level;
static bool own;

static void begin(void) {
    moment = 1000 * ZKL_SECOND;
    CHECK(zkl_events_init(&events));
    zkl_log_open(&told, &events, &clock_here, false);
}

static void end(void) {
    zkl_log_close(&told);
    zkl_events_destroy(&events);
}

/* The oldest line; "": there is none. */
static const char *line(void) {
    return zkl_log_take_next(&told, &level, &own, text, sizeof text) ? text : "";
}

static void pass(double seconds) {
    moment = zkl_clock_after(moment, seconds);
    zkl_log_step(&told);
}

static void suspended(int port) {
    zkl_log_warn(&told, "", "suspended: refused: 10.0.0.1:%d", port);
}

static void what_repeats_is_told_once_a_minute_with_its_times(void) {
    for (int i = 0; i < 20; i++) {
        suspended(i);
        pass(1);
    }
    CHECK_TEXT(line(), "suspended: refused: 10.0.0.1:0");
    CHECK_TEXT(line(), "");
    pass(39.9);
    CHECK_TEXT(line(), "");
    pass(0.1);
    CHECK_TEXT(line(), "suspended: refused: 10.0.0.1:19 (19 times in 60 s)");
    suspended(20);
    pass(59);
    CHECK_TEXT(line(), "");
    pass(1);
    CHECK_TEXT(line(), "suspended: refused: 10.0.0.1:20 (1 times in 60 s)");
    CHECK_TEXT(line(), "");
}

static void what_does_not_repeat_is_told_at_once_again(void) {
    suspended(1);
    pass(60);
    suspended(2);
    CHECK_TEXT(line(), "suspended: refused: 10.0.0.1:1");
    CHECK_TEXT(line(), "suspended: refused: 10.0.0.1:2");
    CHECK_TEXT(line(), "");
}

static void conditions_are_told_apart_by_format_and_subject(void) {
    suspended(1);
    for (int i = 0; i < 2; i++) {
        zkl_log_warn(&told, "no such host: a", "%s", "no such host: a");
        zkl_log_warn(&told, "no such host: b", "%s", "no such host: b");
    }
    CHECK_TEXT(line(), "suspended: refused: 10.0.0.1:1");
    CHECK_TEXT(line(), "no such host: a");
    CHECK_TEXT(line(), "no such host: b");
    CHECK_TEXT(line(), "");
}

static void without_a_subject_each_line_is_told(void) {
    for (int i = 0; i < 2; i++)
        zkl_log_warn(&told, NULL, "waiting");
    CHECK_TEXT(line(), "waiting");
    CHECK_TEXT(line(), "waiting");
    CHECK_TEXT(line(), "");
}

static void more_conditions_than_there_is_room_for_keep_their_times(void) {
    suspended(1);
    suspended(2);
    for (int i = 0; i < ZKL_LOG_CONDITIONS; i++) {
        char subject[32];
        moment++;
        snprintf(subject, sizeof subject, "host %d", i);
        zkl_log_warn(&told, subject, "%s", subject);
    }
    CHECK_TEXT(line(), "suspended: refused: 10.0.0.1:1");
    for (int i = 0; i < ZKL_LOG_CONDITIONS - 1; i++)
        line();
    CHECK_TEXT(line(), "suspended: refused: 10.0.0.1:2 (1 times in 0 s)");
    CHECK_TEXT(line(), "host 15");
    CHECK_TEXT(line(), "");
}

static void a_line_has_its_level_and_its_source(void) {
    zkl_log_warn(&told, "", "one");
    zkl_log_error(&told, "", "two");
    zkl_log_library("2026:ZOO_ERROR@f@1: not asked for", NULL);
    CHECK_TEXT(line(), "one");
    CHECK_TEXT(level, "warn");
    CHECK(own);
    CHECK_TEXT(line(), "two");
    CHECK_TEXT(level, "error");
    CHECK(own);
    CHECK_TEXT(line(), "");
    zkl_log_close(&told);
    zkl_log_open(&told, &events, &clock_here, true);
    zkl_log_library("2026:ZOO_ERROR@f@1: asked for", "why");
    CHECK_TEXT(line(), "2026:ZOO_ERROR@f@1: asked for: why");
    CHECK_TEXT(level, "error");
    CHECK(!own);
}

static void a_host_without_a_log_is_fine(void) {
    zkl_log_warn(NULL, "", "one");
    zkl_log_error(NULL, "", "one");
    zkl_log_step(NULL);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"what repeats is told once a minute, with its times",
         what_repeats_is_told_once_a_minute_with_its_times},
        {"what does not repeat is told at once again", what_does_not_repeat_is_told_at_once_again},
        {"conditions are told apart by format and subject",
         conditions_are_told_apart_by_format_and_subject},
        {"without a subject each line is told", without_a_subject_each_line_is_told},
        {"more conditions than there is room for keep their times",
         more_conditions_than_there_is_room_for_keep_their_times},
        {"a line has its level and its source", a_line_has_its_level_and_its_source},
        {"a host without a log is fine", a_host_without_a_log_is_fine},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
