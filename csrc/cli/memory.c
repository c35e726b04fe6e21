/* SPDX-License-Identifier: MIT */
#include "cli/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

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
