/* SPDX-License-Identifier: MIT */
#include "cli/text.h"

#include "base/text.h"

#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *given(void *memory) {
    if (memory)
        return memory;
    static const char why[] = "zklock: not enough memory\n";
    fwrite(why, 1, sizeof why - 1, stderr);
    exit(EX_SOFTWARE);
}

void *cli_memory(size_t size) {
    return given(malloc(size ? size : 1));
}

void *cli_memory_again(void *memory, size_t count, size_t size) {
    return given(reallocarray(memory, count ? count : 1, size));
}

char *cli_memory_text(const char *text) {
    return given(strdup(text));
}

char *cli_memory_print(const char *format, ...) {
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return given(length < 0 ? NULL : text);
}

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

const char *cli_text_show(char to[CLI_TEXT_SHOWN], const char *text) {
    static const char more[] = "...";
    size_t used = 0, room = 0; /* room: where "..." still fits */
    char part[ZKL_TEXT_PIECE];
    const zkl_text_kept keep = {.utf8 = is_utf8()};
    for (size_t left = strlen(text), taken; left > 0; text += taken, left -= taken) {
        const size_t width = zkl_text_piece(part, text, left, keep, &taken);
        if (used + width + 1 > CLI_TEXT_SHOWN) {
            memcpy(to + room, more, sizeof more);
            return to;
        }
        memcpy(to + used, part, width);
        used += width;
        if (used + sizeof more <= CLI_TEXT_SHOWN)
            room = used;
    }
    to[used] = '\0';
    return to;
}
