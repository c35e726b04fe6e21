/* patrol: what is done for those who are not watched (unwatched.h) when it is their turn: a
 * contender's own node is read, which tells of its loss and of who asks for it back; or the line of
 * a waiter is listed. */
#ifndef ZKL_PATROL_H
#define ZKL_PATROL_H

#include "queue/queue.h"

void zkl_patrol_init(zkl_queue *queue);

#endif
