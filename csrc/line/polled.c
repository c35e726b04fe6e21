/* SPDX-License-Identifier: MIT */
#include "line/polled.h"

#include "base/round.h"

void zkl_polled_add_own(zkl_contender *c) {
    if (c->post.round != &c->common->lists)
        zkl_round_add(&c->common->reads, &c->post);
}

void zkl_polled_remove_own(zkl_contender *c) {
    if (c->post.round == &c->common->reads)
        zkl_round_leave(&c->post);
}

void zkl_polled_add_line(zkl_contender *c) {
    zkl_round_add(&c->common->lists, &c->post);
}

void zkl_polled_remove_line(zkl_contender *c) {
    if (c->post.round == &c->common->lists)
        zkl_round_leave(&c->post);
}

size_t zkl_polled_count(const zkl_line_common *common) {
    return common->reads.count + common->lists.count;
}
