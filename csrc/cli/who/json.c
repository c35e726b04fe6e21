/* SPDX-License-Identifier: MIT */
#include "cli/who/json.h"

#include <stdio.h>

void cli_json_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}
