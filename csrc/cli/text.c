/* SPDX-License-Identifier: MIT */
#include "cli/text.h"

#include "base/text.h"
#include "cli/memory.h"

#include <langinfo.h>
#include <stdbool.h>
#include <string.h>

static bool is_utf8(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static char *show(const char *bytes, size_t length, zkl_text_kept keep) {
    char *shown = cli_memory(4 * length + ZKL_TEXT_PIECE), *end = shown;
    for (size_t i = 0, taken; i < length; i += taken)
        end += zkl_text_piece(end, bytes + i, length - i, keep, &taken);
    *end = '\0';
    return shown;
}

char *cli_text_shown(const char *bytes, size_t length) {
    return show(bytes, length, (zkl_text_kept){.utf8 = is_utf8()});
}

char *cli_text_shown_lines(const char *bytes, size_t length) {
    return show(bytes, length, (zkl_text_kept){.utf8 = is_utf8(), .lines = true});
}

char *cli_text_spelled(const char *bytes, size_t length) {
    return show(bytes, length, (zkl_text_kept){.utf8 = true});
}

void cli_text_show(char *to, size_t size, const char *text) {
    static const char more[] = "...";
    size_t used = 0, room = 0; /* room: where "..." still fits */
    char part[ZKL_TEXT_PIECE];
    const zkl_text_kept keep = {.utf8 = is_utf8()};
    for (size_t left = strlen(text), taken; left > 0; text += taken, left -= taken) {
        const size_t width = zkl_text_piece(part, text, left, keep, &taken);
        if (used + width + 1 > size) {
            memcpy(to + room, more, sizeof more);
            return;
        }
        memcpy(to + used, part, width);
        used += width;
        if (used + sizeof more <= size)
            room = used;
    }
    to[used] = '\0';
}
