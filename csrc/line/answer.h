/* SPDX-License-Identifier: MIT */
/* answer: handles the servers' answers to a line and its contenders. Each answer is a step: it ends
 * with zkl_line_settle. */
#ifndef ZKL_ANSWER_H
#define ZKL_ANSWER_H

#include "line/line_state.h"

/* The `answer` of the receivers. */
void zkl_answer_to_line(zkl_receiver *receiver, const zkl_return *back, const zkl_reply *reply);
void zkl_answer_to_contender(zkl_receiver *receiver, const zkl_return *back,
                             const zkl_reply *reply);

/* The answer to a create that the contender's listener has sent, or that went out in a batch; or
 * the reply that nothing could be sent. `directory`: the answer to the write that went behind the
 * create; NULL: there was none, and a list follows. */
void zkl_line_created(zkl_contender *c, const zkl_reply *reply, const zkl_stat *directory);
/* The servers have not carried out that create, because of another part: it is sent again after a
 * pause; or at once, because what they have refused does not go with it again. */
void zkl_line_not_created(zkl_contender *c);
void zkl_line_create_again(zkl_contender *c);
/* The answer to its delete, which went together with others. */
void zkl_line_erased(zkl_contender *c, const zkl_reply *reply);

#endif
