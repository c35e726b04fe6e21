/* SPDX-License-Identifier: MIT */
/* fake_world: what the tests of a line begin with: servers with one directory, and two clients that
 * are connected. */
#ifndef FAKE_WORLD_H
#define FAKE_WORLD_H

#include "check.h"
#include "fake_port.h"

#include <zookeeper/zookeeper.h>

#define LINE "/locks/a"

extern fake_servers *zk;
extern fake_client *one, *two;

void fake_world_begin(void);
void fake_world_end(void);

/* The caller is granted what it has asked for, and returned. */
fake_caller *fake_granted(fake_caller *caller);
/* Joins and is granted: nobody else is there. */
fake_caller *fake_holder(fake_client *client);
/* Joins and waits, with everything answered. */
fake_caller *fake_waiter(fake_client *client);
/* Answered by a failure with this status. */
void fake_check_failed(const char *file, int line, const fake_caller *caller, zkl_status status);
/* It holds, by the creation of its node. */
void fake_check_own_token(const char *file, int line, const fake_caller *caller);
/* Nothing of ours is left: no node, no line, no timer. */
void fake_check_clean(const char *file, int line);

#define CHECK_FAILED(caller, status) fake_check_failed(__FILE__, __LINE__, (caller), (status))
#define CHECK_OWN_TOKEN(caller) fake_check_own_token(__FILE__, __LINE__, (caller))
#define CHECK_CLEAN() fake_check_clean(__FILE__, __LINE__)

#endif
