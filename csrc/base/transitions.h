/* transitions: from which state to which something may go. In builds with ZKL_CHECK a transition
 * that is not legal is named on stderr, and the process aborts; and if the environment's
 * ZKL_TRANSITIONS names a file, it tells there which there are and which are made, each once (make
 * coverage). Other builds do nothing. */
#ifndef ZKL_TRANSITIONS_H
#define ZKL_TRANSITIONS_H

#include <stdint.h>

#define ZKL_TRANSITIONS_STATES 16

/* The set of states with that one. */
#define ZKL_TO(state) (1U << (state))

/* One for each kind of thing that has states. */
typedef struct zkl_transitions {
    const char *of;
    const char *names[ZKL_TRANSITIONS_STATES]; /* of the states; NULL: not one of them */
    uint16_t legal[ZKL_TRANSITIONS_STATES];    /* from each: to which */
    _Atomic uint16_t made[ZKL_TRANSITIONS_STATES];
} zkl_transitions;

#ifdef ZKL_CHECK
void zkl_transitions_make(zkl_transitions *transitions, unsigned from, unsigned to);
#else
static inline void zkl_transitions_make(zkl_transitions *transitions, unsigned from, unsigned to) {
    (void)transitions;
    (void)from;
    (void)to;
}
#endif

#endif
