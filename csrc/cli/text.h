/* SPDX-License-Identifier: MIT */
/* text: what others have written (paths, data, names), spelled so that people can read it on a
 * terminal. base/text.h has the spelling. */
#ifndef ZKL_CLI_TEXT_H
#define ZKL_CLI_TEXT_H

#include <stddef.h>

/* For people: the spelling, as a text of its own, which the caller frees. Where the locale is not
 * one of UTF-8, all that is not ASCII is spelled, too: a terminal could take it for something else,
 * and libsmartcols loops for ever over it. */
char *cli_text_shown(const char *bytes, size_t length);

/* The same, but newlines and tabs stay: for data of several lines. */
char *cli_text_shown_lines(const char *bytes, size_t length);

/* For programs: UTF-8, whatever the locale. */
char *cli_text_spelled(const char *bytes, size_t length);

/* The spelling of a text, within `size` bytes; "..." stands for what does not fit. */
void cli_text_show(char *to, size_t size, const char *text);
#define CLI_TEXT_SHOWN 104 /* bytes of a path or a name within a message */

#endif
