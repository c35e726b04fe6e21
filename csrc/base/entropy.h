/* entropy: bytes that nobody can guess. */
#ifndef ZKL_ENTROPY_H
#define ZKL_ENTROPY_H

#include <stdbool.h>
#include <stddef.h>

/* false: the system has none. Any thread. */
bool zkl_entropy(void *bytes, size_t size);

#endif
