/* SPDX-License-Identifier: MIT */
/* memory: allocation for a program that ends when there is none. */
#ifndef ZKL_CLI_MEMORY_H
#define ZKL_CLI_MEMORY_H

#include <stddef.h>

/* The caller frees the result. Without memory the process complains and ends with EX_SOFTWARE. */
void *cli_memory(size_t size);
void *cli_memory_again(void *memory, size_t count, size_t size);
char *cli_memory_text(const char *text);
char *cli_memory_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
