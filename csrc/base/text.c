/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* First and last of the characters above ASCII that are spelled: controls, line ends, marks of
 * direction, and characters without a look of their own. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x80, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
    {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
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

/* How many of the bytes are shown as they are. 0: the first one is spelled; it and the *spelled - 1
 * behind it. */
static size_t plain(const unsigned char *bytes, size_t length, zkl_text_kept keep,
                    size_t *spelled) {
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

size_t zkl_text_piece(char to[ZKL_TEXT_PIECE], const char *bytes, size_t length, zkl_text_kept keep,
                      size_t *taken) {
    const size_t size = plain((const unsigned char *)bytes, length, keep, taken);
    if (size > 0) {
        memcpy(to, bytes, size);
        return *taken = size;
    }
    for (size_t i = 0; i < *taken; i++)
        snprintf(to + 4 * i, 5, "\\x%02x", (unsigned char)bytes[i]);
    return 4 * *taken;
}

bool zkl_text_is_utf8(const char *bytes, size_t length) {
    uint32_t code;
    for (size_t i = 0, size; i < length; i += size) {
        const unsigned char *at = (const unsigned char *)bytes + i;
        size = *at < 0x80 ? 1 : character(at, length - i, &code);
        if (size == 0)
            return false;
    }
    return true;
}
