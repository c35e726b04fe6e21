/* company: who else stands behind a shared node, and for how long they have waited. Under the
 * client's mutex. */
#ifndef ZKL_COMPANY_H
#define ZKL_COMPANY_H

#include "queue/shared_node_state.h"

/* Sees what the line knows by now, and whether it is to have a watch on the directory. Of one that
 * is held. */
void zkl_company_look(zkl_shared_node *shared);
/* Wants a list. false: none is on its way. */
bool zkl_company_ask(zkl_shared_node *shared);
/* Asks, if it is not known who is there: perhaps those who came have gone. false: no answer
 * comes. */
bool zkl_company_awaited(zkl_shared_node *shared);
/* Have those behind it waited for as long as they are to? */
bool zkl_company_waited(const zkl_shared_node *shared);
/* Somebody here reads: sees to it that is asked now and then. */
void zkl_company_patrol(zkl_shared_node *shared);

#endif
