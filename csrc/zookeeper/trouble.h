/* trouble: why servers were not reached, by address, as libzookeeper's log lines tell it. One for
 * the process: who is at an address is the same for all clients. */
#ifndef ZKL_TROUBLE_H
#define ZKL_TROUBLE_H

#include "base/clock.h"
#include "zklock.h"

#include <stdbool.h>
#include <stddef.h>

/* Any thread. A line that speaks of no address is passed over. */
void zkl_trouble_note(const char *line);
/* "connection refused: 127.0.0.1:2181": the latest since that moment at one of these addresses
 * (with commas between them; NULL: none). false: nothing is known. */
bool zkl_trouble_of(const char *addresses, zkl_nanos since, char *text, size_t size);

#endif
