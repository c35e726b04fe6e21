/* path: what the servers take in a path. Pure. */
#ifndef ZKL_PATH_H
#define ZKL_PATH_H

#include <stdbool.h>

/* Is it spelled with characters that the servers take in the path of a node? They read UTF-8, and
 * take no control character, none for private use, none beyond U+FFEF: no emoji either. A lock or
 * node there would be answered with "bad arguments", by no name. */
bool zkl_path_is_spelled(const char *path);

#endif
