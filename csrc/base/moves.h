/* moves: from which state to which something may go. In builds with ZKL_CHECK a move that is not
 * legal is named on stderr, and the process aborts; and if the environment's ZKL_MOVES names a
 * file, it tells there which there are and which are made, each once (make coverage). Other builds
 * do nothing. */
#ifndef ZKL_MOVES_H
#define ZKL_MOVES_H

#include <stdint.h>

#define ZKL_MOVES_STATES 16

/* The set of states with that one. */
#define ZKL_TO(state) (1U << (state))

/* One for each kind of thing that moves. */
typedef struct zkl_moves {
    const char *of;
    const char *names[ZKL_MOVES_STATES]; /* of the states; NULL: not one of them */
    uint16_t legal[ZKL_MOVES_STATES];    /* from each: to which */
    _Atomic uint16_t made[ZKL_MOVES_STATES];
} zkl_moves;

#ifdef ZKL_CHECK
void zkl_moves_make(zkl_moves *moves, unsigned from, unsigned to);
#else
static inline void zkl_moves_make(zkl_moves *moves, unsigned from, unsigned to) {
    (void)moves;
    (void)from;
    (void)to;
}
#endif

#endif
