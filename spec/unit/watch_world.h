/* SPDX-License-Identifier: MIT */
/* watch_world: what the tests of watches do again and again, in the world of fake_world.h. */
#ifndef WATCH_WORLD_H
#define WATCH_WORLD_H

#include "fake_world.h"

#define WATCH_MANY 40

extern fake_caller *watch_callers[WATCH_MANY];
extern const char *watch_strangers[WATCH_MANY];

const char *watch_path(size_t i);
/* One of them in each of many lines. */
void watch_join_many(void);
/* The same, and in each somebody else is before him. */
void watch_wait_for_many(void);
/* Time passes, and everything is answered. */
void watch_wait(double seconds);
/* So little that nothing is watched. */
void watch_without_room(void);
/* The bytes that are counted are those that the library has. */
void watch_check_counted(void);

#endif
