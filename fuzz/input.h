/* SPDX-License-Identifier: MIT */
/* input: a fuzzer's bytes as what a target asks for. When they are used up everything is 0. */
#ifndef INPUT_H
#define INPUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct input {
    const uint8_t *bytes;
    size_t left;
} input;

/* Called by libFuzzer, and by fuzz/replay.c with each input that is kept. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Below that; 0 of 0. */
unsigned input_any(input *in, unsigned below);
/* Up to the next newline, without it, at most size - 1 bytes; a NUL ends it, too. Returns text. */
char *input_line(input *in, char *text, size_t size);

#endif
