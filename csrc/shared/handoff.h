/* handoff: who of those here holds a shared node, who waits for it and who rests on it, and how it
 * goes from one to the next. Under the client's mutex. */
#ifndef ZKL_HANDOFF_H
#define ZKL_HANDOFF_H

#include "shared/node_state.h"

/* The caller is the last who waits. */
void zkl_handoff_wait(zkl_shared_node *shared, zkl_contender *c);

/* The end of a wait. */
void zkl_handoff_fail(zkl_contender *c, zkl_status status);
void zkl_handoff_fail_all(zkl_shared_node *shared, zkl_status status);
/* Of those who are not to wait for anybody. */
void zkl_handoff_fail_impatient(zkl_shared_node *shared, zkl_status status);
/* It is known that all here have to wait for somebody: of those who may be refused, those go who
 * are too many. */
void zkl_handoff_thin(zkl_shared_node *shared);

/* Are all who wait content with one try? */
bool zkl_handoff_tried_once(const zkl_shared_node *shared);

/* A hold has ended; the caller says how. */
void zkl_handoff_leave(zkl_shared_node *shared, zkl_contender *c);
/* The write that is held is about to end: the read that was taken under it is a shared node like
 * any other from now on. `well`: it was released, so that others may read beside that; those who
 * wait for another shared node of readers wait for this one, if it lets anybody in now. Else it is
 * sealed. */
void zkl_handoff_downgrade(zkl_shared_node *write, bool well);
/* All who hold it have lost it. */
void zkl_handoff_lose(zkl_shared_node *shared);

typedef enum zkl_may { ZKL_MAY_NOT, ZKL_MAY_SOON, ZKL_MAY } zkl_may;

/* May the next one here hold without traffic? The node must be there at this moment, and the
 * session alive. SOON: what is asked for comes back here, as the line's settling does. */
zkl_may zkl_handoff_may_hand_over(zkl_shared_node *shared);
/* The first who waits holds it; `handed`: without traffic. */
void zkl_handoff_grant(zkl_shared_node *shared, bool handed);
/* It cannot be taken again by one who rests on it. */
void zkl_handoff_leave_resting(zkl_shared_node *shared, zkl_contender *c);

#endif
