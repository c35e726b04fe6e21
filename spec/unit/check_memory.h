/* SPDX-License-Identifier: MIT */
/* check_memory: what AddressSanitizer would say, for programs without it, as far as it costs
 * nothing: a piece that a case has left, what was written behind the end of a piece, or freed
 * twice. New memory, and freed memory, is filled with nonsense, so that nobody reads either by
 * luck. */
#ifndef CHECK_MEMORY_H
#define CHECK_MEMORY_H

#include <stddef.h>

/* Pieces that are allocated and not freed; 0 where memory is not watched. */
size_t check_memory_pieces(void);

#endif
