/* SPDX-License-Identifier: MIT */
/* replay: gives a target what is kept for it in CORPUS, fuzz/corpus/NAME, as a unit test. */
#include "input.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_MOST 65536

static uint8_t bytes[SIZE_MOST];

/* false: it cannot be read, or is too long. */
static int replay(const char *name) {
    char path[512];
    snprintf(path, sizeof path, CORPUS "/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    const int whole = !ferror(file) && size < sizeof bytes;
    fclose(file);
    printf("        %s\n", name);            /* if it crashes, it was this one */
    uint8_t *copy = malloc(size ? size : 1); /* so that a sanitizer sees who reads beyond it */
    if (!whole || !copy)
        return free(copy), 0;
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return 1;
}

int main(void) {
    unsigned passed = 0, failed = 0;
    DIR *folder = opendir(CORPUS);
    const struct dirent *entry;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            replay(entry->d_name) ? passed++ : failed++;
    if (folder)
        closedir(folder);
    if (passed == 0)
        failed++; /* a corpus that is not there */
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
