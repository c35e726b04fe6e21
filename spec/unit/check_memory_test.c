/* SPDX-License-Identifier: MIT */
/* Where a sanitizer watches the memory, check_memory does not, and these cases have nothing to
 * see. */
#include "check.h"
#include "check_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned char *volatile piece; /* volatile: what is allocated in vain is not left out */

static bool is_watched(void) {
    const size_t before = check_memory_pieces();
    piece = malloc(1);
    const bool counted = check_memory_pieces() > before;
    free(piece);
    return counted;
}

static void each_piece_is_counted_until_it_is_freed(void) {
    if (!is_watched())
        return;
    const size_t before = check_memory_pieces();
    piece = calloc(3, 5);
    char *text = strdup("text");
    CHECK_INT(check_memory_pieces(), before + 2);
    piece = realloc(piece, 1000);
    CHECK_INT(check_memory_pieces(), before + 2);
    free(text);
    free(piece);
    piece = aligned_alloc(64, 64); /* not one of those that are watched */
    free(piece);
    free(NULL);
    CHECK_INT(check_memory_pieces(), before);
}

static void what_was_in_it_is_there_after_a_realloc(void) {
    piece = realloc(NULL, 4);
    memcpy(piece, "abc", 4);
    piece = realloc(piece, 1000);
    CHECK_TEXT((char *)piece, "abc");
    piece = realloc(piece, 2);
    CHECK(piece[0] == 'a' && piece[1] == 'b');
    free(piece);
}

static void what_is_new_is_nonsense_or_nothing(void) {
    if (!is_watched())
        return;
    piece = malloc(8);
    for (size_t i = 0; i < 8; i++)
        CHECK(piece[i] == piece[0] && piece[0] != 0);
    free(piece);
    piece = calloc(2, 4);
    for (size_t i = 0; i < 8; i++)
        CHECK_INT(piece[i], 0);
    free(piece);
}

static void more_than_there_is_fails(void) {
    if (!is_watched())
        return;
    volatile size_t most = SIZE_MAX;
    CHECK(malloc(most) == NULL);
    CHECK(calloc(most, 2) == NULL);
}

static void one_byte_behind_it_ends_the_program(void) {
    if (!is_watched())
        return;
    const pid_t child = fork();
    if (child == 0) {
        close(STDOUT_FILENO);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        piece = malloc(3);
        volatile size_t behind = 3;
        piece[behind] = 0;
        free(piece);
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"each piece of memory is counted until it is freed",
         each_piece_is_counted_until_it_is_freed},
        {"what was in it is there after a realloc", what_was_in_it_is_there_after_a_realloc},
        {"what is new is nonsense, or nothing", what_is_new_is_nonsense_or_nothing},
        {"more than there is fails", more_than_there_is_fails},
        {"a byte behind it that is written ends the program", one_byte_behind_it_ends_the_program},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
