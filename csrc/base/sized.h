/* SPDX-License-Identifier: MIT */
/* sized: the public structs that begin with their size, as programs of other versions have them: an
 * older program has fewer fields, a newer one has more. */
#ifndef ZKL_SIZED_H
#define ZKL_SIZED_H

#include <stdbool.h>
#include <stddef.h>

/* Copies what the caller has filled over the defaults in `known`, which has the size in its first
 * field. false: the caller's struct has no size, or it uses a field that this version lacks; then
 * `known` is undefined. */
bool zkl_sized_take(void *known, const void *given);
/* Has it a size? */
bool zkl_sized_is_one(const void *given);
/* Fills the caller's struct, which has a size, as far as it goes; what this version lacks becomes
 * 0, and the caller's size stays. */
void zkl_sized_give(void *given, const void *known);

#endif
