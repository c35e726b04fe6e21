/* SPDX-License-Identifier: MIT */
/* text: which characters of a text are shown as they are, and the spelling of the others. A
 * character that would move the cursor, begin a line, turn the direction of writing or not be seen
 * at all, or a byte that is not UTF-8, becomes its bytes: `\x1b`, `\xff`. The command line and the
 * Lua binding show texts of others by this table alone. */
#ifndef ZKL_TEXT_H
#define ZKL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Besides printable ASCII, these are shown as they are. */
typedef struct zkl_text_kept {
    bool lines; /* newlines and tabs */
    bool utf8;  /* characters above ASCII that are seen */
} zkl_text_kept;

#define ZKL_TEXT_PIECE 17 /* bytes of the longest piece, and one */

/* Writes how the character at the start of `bytes` is shown, and sets `*taken` to the number of
 * bytes that it has there. `length` is above 0. Returns the length of what it has written, which
 * has no NUL behind it. */
size_t zkl_text_piece(char to[ZKL_TEXT_PIECE], const char *bytes, size_t length, zkl_text_kept keep,
                      size_t *taken);

bool zkl_text_is_utf8(const char *bytes, size_t length);

#endif
