/* SPDX-License-Identifier: MIT */
#include "base/sized.h"

#include <string.h>

static size_t size_of(const void *sized) {
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

bool zkl_sized_is_one(const void *given) {
    return size_of(given) >= sizeof(size_t);
}

bool zkl_sized_take(void *known, const void *given) {
    const size_t own = size_of(known), size = size_of(given);
    const char *bytes = given;
    if (!zkl_sized_is_one(given))
        return false;
    memcpy(known, given, size < own ? size : own);
    memcpy(known, &own, sizeof own);
    for (size_t i = own; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

void zkl_sized_give(void *given, const void *known) {
    const size_t own = size_of(known), size = size_of(given);
    memset(given, 0, size);
    memcpy(given, known, size < own ? size : own);
    memcpy(given, &size, sizeof size);
}
