#include "base/moves.h"

#ifdef ZKL_CHECK

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Nothing is allocated, for the tests count that; and what is short is written whole, whoever else
 * writes to the file. */
static void tell(const zkl_moves *moves, const char *what, unsigned from, unsigned to) {
    const char *path = getenv("ZKL_MOVES");
    const int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    char line[160];
    const int length = snprintf(line, sizeof line, "%s\t%s: %s -> %s\n", what, moves->of,
                                moves->names[from], moves->names[to]);
    if (file < 0)
        return;
    if (write(file, line, (size_t)length) != length)
        perror(path);
    close(file);
}

static void tell_legal(const zkl_moves *moves) {
    for (unsigned from = 0; from < ZKL_MOVES_STATES; from++)
        for (unsigned to = 0; to < ZKL_MOVES_STATES; to++)
            if (moves->legal[from] & ZKL_TO(to))
                tell(moves, "legal", from, to);
}

static int has_made_any(const zkl_moves *moves) {
    for (unsigned from = 0; from < ZKL_MOVES_STATES; from++)
        if (moves->made[from])
            return 1;
    return 0;
}

void zkl_moves_make(zkl_moves *moves, unsigned from, unsigned to) {
    if (from == to || moves->made[from] & ZKL_TO(to))
        return;
    if (!(moves->legal[from] & ZKL_TO(to))) {
        fprintf(stderr, "zklock: not legal: %s: %s -> %s\n", moves->of, moves->names[from],
                moves->names[to]);
        tell(moves, "not legal", from, to);
        abort();
    }
    if (!has_made_any(moves))
        tell_legal(moves);
    moves->made[from] |= (uint16_t)ZKL_TO(to);
    tell(moves, "made", from, to);
}

#endif
