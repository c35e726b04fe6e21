/* answer: what the servers' answers, watches and passing time do to a line and its contenders. Each
 * of these is a step: it ends with zkl_line_settle. */
#ifndef ZKL_ANSWER_H
#define ZKL_ANSWER_H

#include "line/line_state.h"

/* To be set as the receivers' `answer` and the timers' `fire`. */
void zkl_answer_to_line(zkl_receiver *receiver, const zkl_return *back, const zkl_reply *reply);
void zkl_answer_to_contender(zkl_receiver *receiver, const zkl_return *back,
                             const zkl_reply *reply);
void zkl_answer_contender_timer(zkl_timer *timer);

/* The answer to a create that the contender's compound has sent; the reply may also be that nothing
 * was sent. */
void zkl_line_created(zkl_contender *c, const zkl_reply *reply);
/* A write has found that the node of one that holds is not there. */
void zkl_line_own_missing(zkl_contender *c);
/* A watch has told of the child `name`. */
void zkl_line_watch(zkl_line *line, const char *name, zkl_change change);
/* Is there a watch on the child `name`, or is one asked for? */
bool zkl_line_watching(const zkl_line *line, const char *name);
/* The watch on the directory has told. */
void zkl_line_children_changed(zkl_line *line);

#endif
