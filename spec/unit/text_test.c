/* SPDX-License-Identifier: MIT */
/* Which characters people are shown, and how the others are spelled. */
#include "base/text.h"
#include "check.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* First and last of each range that nobody sees, or that does something to a terminal. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x7f, 0x9f},     {0xad, 0xad},     {0x34f, 0x34f},   {0x61c, 0x61c},
    {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
};

static bool is_hidden(uint32_t code) {
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return true;
    return code < 0x20;
}

static size_t encode(uint32_t code, char to[4]) {
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size; i > 1; i--, code >>= 6)
        to[i - 1] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(leads[size == 1 ? 0 : size] | code);
    return size;
}

/* The text as it is shown. */
static const char *shown(const char *bytes, size_t length, zkl_text_kept keep) {
    static char text[256];
    size_t used = 0;
    for (size_t taken; length > 0; bytes += taken, length -= taken)
        used += zkl_text_piece(text + used, bytes, length, keep, &taken);
    text[used] = '\0';
    return text;
}

static void each_character_is_shown_or_spelled_whole(void) {
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        if (code == 0xd800)
            code = 0xe000;
        char raw[5] = "", spelled[20] = "";
        const size_t size = encode(code, raw);
        for (size_t i = 0; i < size; i++)
            snprintf(spelled + 4 * i, 5, "\\x%02x", (unsigned char)raw[i]);
        const char *wanted = is_hidden(code) ? spelled : raw;
        const char *got = shown(raw, size, (zkl_text_kept){.utf8 = true});
        if (strcmp(wanted, got) != 0)
            CHECK_TEXT(got, wanted);
    }
}

static void no_character_is_above_ascii_without_utf8(void) {
    CHECK_TEXT(shown("a\xc3\xa4", 3, (zkl_text_kept){0}), "a\\xc3\\xa4");
    CHECK_TEXT(shown("a\xc2\xad", 3, (zkl_text_kept){0}), "a\\xc2\\xad");
}

static void newlines_and_tabs_stay_where_lines_are_kept(void) {
    CHECK_TEXT(shown("a\tb\nc\r", 6, (zkl_text_kept){.lines = true}), "a\tb\nc\\x0d");
    CHECK_TEXT(shown("a\tb\n", 4, (zkl_text_kept){0}), "a\\x09b\\x0a");
}

static void bytes_that_are_no_utf8_are_spelled_one_by_one(void) {
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        {"\xff", "\\xff"},
        {"\xc3", "\\xc3"},
        {"\xc0\x8a", "\\xc0\\x8a"},
        {"\xe0\x80\x8a", "\\xe0\\x80\\x8a"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe2\x82x", "\\xe2\\x82x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t length = strlen(cases[i].bytes);
        CHECK_TEXT(shown(cases[i].bytes, length, (zkl_text_kept){.utf8 = true}), cases[i].text);
        CHECK(!zkl_text_is_utf8(cases[i].bytes, length));
    }
    CHECK(zkl_text_is_utf8("", 0));
    CHECK(zkl_text_is_utf8("a\xc3\xa4\xe2\x80\x8b\xf0\x9f\x94\x92", 10));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"each character is shown or spelled whole", each_character_is_shown_or_spelled_whole},
        {"no character is above ASCII without UTF-8", no_character_is_above_ascii_without_utf8},
        {"newlines and tabs stay where lines are kept",
         newlines_and_tabs_stay_where_lines_are_kept},
        {"bytes that are no UTF-8 are spelled one by one",
         bytes_that_are_no_utf8_are_spelled_one_by_one},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
