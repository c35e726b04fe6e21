/* poll_rounds: what is done for those who are not watched (polled.h) when it is their turn: a
 * contender's own node is read, which tells of its loss and of who asks for it back; or the line of
 * a waiter is listed. */
#ifndef ZKL_POLL_ROUNDS_H
#define ZKL_POLL_ROUNDS_H

#include "line/line_common.h"

void zkl_poll_rounds_init(zkl_line_common *common);

#endif
