/* SPDX-License-Identifier: MIT */
#include "base/entropy.h"

#include <sys/random.h>

bool zkl_entropy(void *bytes, size_t size) {
    /* a signal cannot interrupt so short a read */
    return getrandom(bytes, size, 0) == (ssize_t)size;
}
