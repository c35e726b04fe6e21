/* patrol: who finds no room for a watch (watches.h) is looked after by reads, in turn and at a pace (round.h). A place
 * whose own node is not watched has it read: it hears of its loss, and of who asks for it back. A waiter whom no watch
 * tells of its turn has its line listed, which tells of its own node, too. Under the client's mutex. */
#ifndef ZKL_PATROL_H
#define ZKL_PATROL_H

#include "queue/contender.h"

void zkl_patrol_init(zkl_context *context);

/* Its own node is not watched; or is, from now on. */
void zkl_patrol_read(zkl_contender *c);
void zkl_patrol_read_no_more(zkl_contender *c);
/* It waits for what is not watched; or is, from now on. */
void zkl_patrol_list(zkl_contender *c);
void zkl_patrol_list_no_more(zkl_contender *c);

/* How many are looked after. */
size_t zkl_patrol_count(const zkl_context *context);

#endif
