/* SPDX-License-Identifier: MIT */
#include "input.h"

static uint8_t next(input *in) {
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->bytes++;
}

unsigned input_any(input *in, unsigned below) {
    unsigned value = next(in);
    if (below > 256)
        value = value << 8 | next(in);
    return below ? value % below : 0;
}

char *input_line(input *in, char *text, size_t size) {
    size_t length = 0;
    while (in->left > 0) {
        const char c = (char)next(in);
        if (c == '\n' || c == '\0')
            break;
        if (length + 1 < size)
            text[length++] = c;
    }
    text[length] = '\0';
    return text;
}
