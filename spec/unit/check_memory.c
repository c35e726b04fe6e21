/* SPDX-License-Identifier: MIT */
#include "check_memory.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

#include <stdlib.h>

#if defined(__GLIBC__) && !defined(SANITIZED)

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);

/* Before each piece stands how large it is, and a mark; behind it another one. Pieces that were
 * asked for with an alignment have none: glibc's own word stands there, which is no mark. */
typedef struct head {
    size_t size;
    uint64_t mark;
} head;

#define WATCHED UINT64_C(0x9d3cf1a57e64b802)
enum { TAIL = 8, NEW = 0xa7, OLD = 0x5d };
static const unsigned char tail[TAIL] = {0x6b, 0xe1, 0x94, 0x2d, 0xf8, 0x53, 0xc6, 0x0a};

static _Atomic size_t pieces;

size_t check_memory_pieces(void) {
    return pieces;
}

static _Noreturn void die(void) {
    static const char why[] = "something was written behind the end of a piece of memory\n";
    const ssize_t written = write(STDOUT_FILENO, why, sizeof why - 1);
    (void)written;
    abort();
}

static void *end_of(head *piece) {
    return (char *)(piece + 1) + piece->size;
}

static void *watch(head *piece, size_t size) {
    *piece = (head){size, WATCHED};
    memcpy(end_of(piece), tail, TAIL);
    pieces++;
    return piece + 1;
}

/* NULL: it is not watched. */
static head *watched(void *memory) {
    head *piece = (head *)memory - 1;
    if (piece->mark != WATCHED)
        return NULL;
    if (memcmp(end_of(piece), tail, TAIL) != 0)
        die();
    return piece;
}

static void *allocate(size_t size, int filler) {
    head *piece = size < SIZE_MAX / 2 ? __libc_malloc(sizeof *piece + size + TAIL) : NULL;
    if (!piece) {
        errno = ENOMEM;
        return NULL;
    }
    memset(piece + 1, filler, size);
    return watch(piece, size);
}

SEEN void *malloc(size_t size) {
    return allocate(size, NEW);
}

SEEN void *calloc(size_t count, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(count, size, &all))
        all = SIZE_MAX;
    return allocate(all, 0);
}

SEEN void free(void *memory) {
    head *piece = memory ? watched(memory) : NULL;
    if (!piece) {
        __libc_free(memory);
        return;
    }
    const int error = errno;
    memset(piece + 1, OLD, piece->size);
    piece->mark = 0; /* who frees it once more frees what glibc does not know */
    pieces--;
    __libc_free(piece);
    errno = error;
}

SEEN void *realloc(void *memory, size_t size) {
    head *piece = memory ? watched(memory) : NULL;
    if (memory && !piece)
        return __libc_realloc(memory, size);
    void *copy = malloc(size);
    if (copy && piece) {
        memcpy(copy, memory, piece->size < size ? piece->size : size);
        free(memory);
    }
    return copy;
}

#else

size_t check_memory_pieces(void) {
    return 0;
}

#endif
