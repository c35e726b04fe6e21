/* SPDX-License-Identifier: MIT */
/* text: allocation for a program that ends when there is no memory, and others' texts as a terminal
 * may see them: bytes that are no printable character become \x1b and the like. */
#ifndef ZKL_CLI_TEXT_H
#define ZKL_CLI_TEXT_H

#include <stddef.h>

/* ---- memory ---- */

/* The caller frees the result. Without memory the process complains and ends with EX_SOFTWARE. */
void *cli_memory(size_t size);
void *cli_memory_again(void *memory, size_t count, size_t size);
char *cli_memory_text(const char *text);
char *cli_memory_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- others' texts ---- */

/* For people: the spelling, as a text of its own, which the caller frees. Where the locale is not
 * one of UTF-8, all that is not ASCII is spelled, too: a terminal could take it for something else,
 * and libsmartcols loops for ever over it. */
char *cli_text_shown(const char *bytes, size_t length);

/* The same, but newlines and tabs stay: for data of several lines. */
char *cli_text_shown_lines(const char *bytes, size_t length);

/* For programs: UTF-8, whatever the locale. */
char *cli_text_spelled(const char *bytes, size_t length);

/* The spelling of a text within a message; "..." stands for what does not fit. Returns `to`. */
#define CLI_TEXT_SHOWN 104 /* bytes */
const char *cli_text_show(char to[CLI_TEXT_SHOWN], const char *text);

/* The same, in memory of the block that it stands in. */
#define CLI_SHOWN(text) cli_text_show((char[CLI_TEXT_SHOWN]){""}, text)

#endif
