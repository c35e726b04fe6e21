/* errand_send: an errand on its way to the servers. */
#ifndef ZKL_ERRAND_SEND_H
#define ZKL_ERRAND_SEND_H

#include "nodes/nodes.h"

/* false: nothing can be handed over now. */
bool zkl_errand_hand_over(zkl_errand *errand);

#endif
