/* SPDX-License-Identifier: MIT */
/* query_world: what the tests of questions do again and again, in the world of fake_world.h. */
#ifndef QUERY_WORLD_H
#define QUERY_WORLD_H

#include "fake_world.h"

extern zkl_query *query;     /* the latest one; NULL: there is none */
extern bool query_of_leases; /* what the next one lists */
extern int64_t query_token;  /* of which the next audit is */

/* After each test. */
void query_end(void);

/* query_ask in two steps: the test sets what the host has, too. */
void query_make(zkl_query_kind asked);
void query_start(double seconds);
/* `one` asks, with so many seconds to the deadline. Of participants, a revocation and an audit: at
 * LINE. */
void query_ask(zkl_query_kind asked, double seconds);
/* The same about a caller. */
void query_ask_about(const fake_caller *c, zkl_query_kind asked, double seconds);
/* The same with a single try. */
void query_ask_once(zkl_query_kind asked);
void query_check_answered(zkl_status status);
void query_stop(void);

/* So many strangers in LINE; `form` as for fake_stranger. */
void query_fill(size_t count, const char *form);

#endif
