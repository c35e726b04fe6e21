/* tend: goes on with a place until there is nothing to do: queues, grants, keeps it, or lets it go.
 * Under the client's mutex. */
#ifndef ZKL_TEND_H
#define ZKL_TEND_H

#include "queue/place_state.h"

/* The place may be gone then. */
void zkl_tend(zkl_place *place);
/* The same with those to which something has happened: near the end of every step. false: there
 * were none. */
bool zkl_places_step(zkl_queue *queue);

#endif
