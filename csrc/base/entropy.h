/* SPDX-License-Identifier: MIT */
/* entropy: random bytes that nobody can guess. */
#ifndef ZKL_ENTROPY_H
#define ZKL_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>

/* Any thread. false: the system has no random bytes. */
bool zkl_entropy(void *bytes, size_t size);

#endif
