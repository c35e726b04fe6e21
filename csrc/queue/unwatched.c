#include "queue/unwatched.h"

#include "base/round.h"

void zkl_unwatched_own(zkl_contender *c) {
    if (c->post.round != &c->queue->lists)
        zkl_round_add(&c->queue->reads, &c->post);
}

void zkl_unwatched_own_no_more(zkl_contender *c) {
    if (c->post.round == &c->queue->reads)
        zkl_round_leave(&c->post);
}

void zkl_unwatched_turn(zkl_contender *c) {
    zkl_round_add(&c->queue->lists, &c->post);
}

void zkl_unwatched_turn_no_more(zkl_contender *c) {
    if (c->post.round == &c->queue->lists)
        zkl_round_leave(&c->post);
}

size_t zkl_unwatched_count(const zkl_queue *queue) {
    return queue->reads.count + queue->lists.count;
}
