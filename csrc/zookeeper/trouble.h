/* SPDX-License-Identifier: MIT */
/* trouble: why servers were not reached, by address, from libzookeeper's log lines. One table for
 * the process, because all clients see the same server at an address. */
#ifndef ZKL_TROUBLE_H
#define ZKL_TROUBLE_H

#include "base/clock.h"
#include "zklock.h"

#include <stdbool.h>
#include <stddef.h>

/* Any thread. Skips a line without an address. `reason`: what OpenSSL says about it, or NULL. */
void zkl_trouble_note(const char *line, const char *reason);
/* "connection refused: 127.0.0.1:2181": the latest reason since that moment for one of these
 * addresses (with commas between them; NULL: none). false: none is known. */
bool zkl_trouble_of(const char *addresses, zkl_nanos since, char *text, size_t size);

#endif
