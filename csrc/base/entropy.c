#include "base/entropy.h"

#include <sys/random.h>

bool zkl_entropy(void *bytes, size_t size) {
    return getrandom(bytes, size, 0) == (ssize_t)size; /* so few are not interrupted */
}
