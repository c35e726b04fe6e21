/* SPDX-License-Identifier: MIT */
/* Memory of clients, counted: the engine's allocations come by here (tools/make/compile.mk renames
 * them), so that a history can see at its end that not a piece is left. */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t pieces;

size_t sim_pieces(void) {
    return pieces;
}

static void *counted(void *memory) {
    pieces += memory != NULL;
    return memory;
}

void *counted_malloc(size_t size);
void *counted_malloc(size_t size) {
    return counted(malloc(size));
}

void *counted_calloc(size_t count, size_t size);
void *counted_calloc(size_t count, size_t size) {
    return counted(calloc(count, size));
}

void *counted_realloc(void *memory, size_t size);
void *counted_realloc(void *memory, size_t size) {
    pieces += memory == NULL;
    return realloc(memory, size);
}

char *counted_strdup(const char *text);
char *counted_strdup(const char *text) {
    return counted(strdup(text));
}

char *counted_strndup(const char *text, size_t most);
char *counted_strndup(const char *text, size_t most) {
    return counted(strndup(text, most));
}

int counted_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int counted_asprintf(char **text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = vasprintf(text, format, args);
    va_end(args);
    if (length >= 0)
        pieces++;
    return length;
}

/* The name of asprintf where buffers are checked (_FORTIFY_SOURCE). */
int counted___asprintf_chk(char **text, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int counted___asprintf_chk(char **text, int flag, const char *format, ...) {
    va_list args;
    (void)flag;
    va_start(args, format);
    const int length = vasprintf(text, format, args);
    va_end(args);
    if (length >= 0)
        pieces++;
    return length;
}

void counted_free(void *memory);
void counted_free(void *memory) {
    pieces -= memory != NULL;
    free(memory);
}
