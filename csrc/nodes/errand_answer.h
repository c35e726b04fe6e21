/* errand_answer: what the servers say to an errand, and what that means for it. */
#ifndef ZKL_ERRAND_ANSWER_H
#define ZKL_ERRAND_ANSWER_H

#include "port/receiver.h"
#include "zklock.h"

zkl_status zkl_errand_status(int rc);
/* Of an errand's receiver. */
void zkl_errand_answered(zkl_receiver *receiver, const zkl_return *asked, const zkl_reply *reply);

#endif
