/* SPDX-License-Identifier: MIT */
#include "watch_world.h"

#include "fake_watch.h"

#include <stdio.h>

fake_caller *watch_callers[WATCH_MANY];
const char *watch_strangers[WATCH_MANY];

const char *watch_path(size_t i) {
    static char path[64];
    snprintf(path, sizeof path, "/locks/%zu", i);
    return path;
}

void watch_join_many(void) {
    for (size_t i = 0; i < WATCH_MANY; i++) {
        fake_directory(zk, watch_path(i));
        watch_callers[i] = fake_join(one, watch_path(i), 1e12);
    }
    fake_settle(one);
}

void watch_wait_for_many(void) {
    for (size_t i = 0; i < WATCH_MANY; i++) {
        fake_directory(zk, watch_path(i));
        watch_strangers[i] = fake_stranger(zk, watch_path(i), NULL);
    }
    watch_join_many();
}

void watch_wait(double seconds) {
    fake_wait(zk, seconds);
    fake_settle_all(zk);
}

void watch_without_room(void) {
    one->lines.common.watch_budget.most = two->lines.common.watch_budget.most = 0;
}

void watch_check_counted(void) {
    CHECK_INT((int64_t)one->lines.common.watch_budget.bytes, (int64_t)fake_watched_bytes(one));
}
