/* stay: for how long a place that nobody here wants is kept, and how it goes. Under the client's
 * mutex. */
#ifndef ZKL_STAY_H
#define ZKL_STAY_H

#include "queue/place_state.h"

/* Nobody here wants it: keeps it for a while. false: it is to go. */
bool zkl_stay_on(zkl_place *place);
/* Somebody wants it again. */
void zkl_stay_no_more(zkl_place *place);
/* The same as zkl_stay_on, of one that may be kept. */
void zkl_stay_idle(zkl_place *place);
/* Its timer has fired while it was idle. */
void zkl_stay_over(zkl_place *place);
/* Lets go of the node, which goes on alone until it is gone. */
void zkl_stay_end(zkl_place *place);

#endif
