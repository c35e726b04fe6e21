/* SPDX-License-Identifier: MIT */
#include "cli/text.h"

#include "cli/memory.h"

#include <langinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* First and last of the characters above ASCII that are not shown as they are: controls, line ends,
 * marks of direction, and what has no look at all. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x80, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f},   {0x2028, 0x202e},
    {0x2066, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f},
};

static bool is_hidden(uint32_t code) {
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return true;
    return false;
}

/* How many bytes follow the first one of a character above ASCII. 0: no character begins so. */
static size_t lead(unsigned char byte, uint32_t *code, uint32_t *least) {
    if (byte >= 0xc2 && byte <= 0xdf) {
        *code = byte - 0xc0U;
        *least = 0x80;
        return 1;
    }
    if (byte >= 0xe0 && byte <= 0xef) {
        *code = byte - 0xe0U;
        *least = 0x800;
        return 2;
    }
    *code = byte - 0xf0U;
    *least = 0x10000;
    return byte >= 0xf0 && byte <= 0xf4 ? 3 : 0;
}

/* The length of the character above ASCII that begins here. 0: none does. */
static size_t character(const unsigned char *bytes, size_t length, uint32_t *code) {
    uint32_t least;
    const size_t more = lead(bytes[0], code, &least);
    if (more == 0 || more >= length)
        return 0;
    for (size_t i = 1; i <= more; i++) {
        if ((bytes[i] & 0xc0U) != 0x80)
            return 0;
        *code = *code << 6 | (bytes[i] & 0x3fU);
    }
    const bool half = *code >= 0xd800 && *code <= 0xdfff;
    return *code < least || *code > 0x10ffff || half ? 0 : more + 1;
}

/* What is kept as it is, besides what everybody can read. */
typedef struct kept {
    bool lines, utf8;
} kept;

static bool is_utf8(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* How many of the bytes are shown as they are. 0: the first one is spelled; it and the *spelled - 1
 * behind it. */
static size_t plain(const unsigned char *bytes, size_t length, kept keep, size_t *spelled) {
    uint32_t code;
    *spelled = 1;
    if (keep.lines && (bytes[0] == '\n' || bytes[0] == '\t'))
        return 1;
    if (bytes[0] < 0x80)
        return bytes[0] >= 0x20 && bytes[0] < 0x7f;
    const size_t size = keep.utf8 ? character(bytes, length, &code) : 0;
    if (size > 0)
        *spelled = size;
    return size > 0 && !is_hidden(code) ? size : 0;
}

/* The spelling of what begins here, not terminated; returns its length, and how many bytes it is
 * for. */
static size_t piece(char to[17], const unsigned char *bytes, size_t length, kept keep,
                    size_t *taken) {
    const size_t size = plain(bytes, length, keep, taken);
    if (size > 0) {
        memcpy(to, bytes, size);
        return *taken = size;
    }
    for (size_t i = 0; i < *taken; i++)
        snprintf(to + 4 * i, 5, "\\x%02x", bytes[i]);
    return 4 * *taken;
}

static char *show(const char *text, size_t length, kept keep) {
    const unsigned char *bytes = (const unsigned char *)text;
    char *shown = cli_memory(4 * length + 17), *end = shown;
    for (size_t i = 0, taken; i < length; i += taken)
        end += piece(end, bytes + i, length - i, keep, &taken);
    *end = '\0';
    return shown;
}

char *cli_text_shown(const char *bytes, size_t length) {
    return show(bytes, length, (kept){.utf8 = is_utf8()});
}

char *cli_text_shown_lines(const char *bytes, size_t length) {
    return show(bytes, length, (kept){.utf8 = is_utf8(), .lines = true});
}

char *cli_text_spelled(const char *bytes, size_t length) {
    return show(bytes, length, (kept){.utf8 = true});
}

void cli_text_show(char *to, size_t size, const char *text) {
    static const char more[] = "...";
    const unsigned char *bytes = (const unsigned char *)text;
    size_t used = 0, room = 0; /* room: where "..." still fits */
    char part[17];
    const kept keep = {.utf8 = is_utf8()};
    for (size_t left = strlen(text), taken; left > 0; bytes += taken, left -= taken) {
        const size_t width = piece(part, bytes, left, keep, &taken);
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
