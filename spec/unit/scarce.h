/* SPDX-License-Identifier: MIT */
/* scarce: memory that runs out. The engine in libscarce.a asks here instead of asking the C
 * library, and the fake port for its requests: what the tests and libzookeeper allocate for
 * themselves is not touched. Any thread. */
#ifndef SCARCE_H
#define SCARCE_H

#include <stdbool.h>
#include <stddef.h>

/* From now on `count` allocations fail, the first of them is the nth (1: the next). With 0: none
 * fails. */
void scarce_plan(unsigned nth, unsigned count);
/* Allocations since the plan was made. */
unsigned scarce_asked(void);
/* Is there room for one more? It counts as an allocation. */
bool scarce_room(void);

/* The engine's calls are renamed to these; see the Makefile. */
void *scarce_malloc(size_t size);
void *scarce_calloc(size_t count, size_t size);
char *scarce_strdup(const char *text);
char *scarce_strndup(const char *text, size_t most);
int scarce_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int scarce___asprintf_chk(char **text, int flag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
