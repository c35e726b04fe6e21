#include "queue/settle.h"

#include "queue/evaluate.h"
#include "queue/followers.h"
#include "queue/max_waiting.h"
#include "queue/send.h"

/* Looking at one may mark others. */
static void look_again(zkl_line *line) {
    while (line->followers.marked.first || line->too_many) {
        zkl_contender *c;
        if (line->too_many)
            zkl_max_waiting_thin(line);
        while ((c = zkl_followers_next_marked(&line->followers)))
            zkl_evaluate(c, ZKL_BY_NEWS);
    }
}

void zkl_line_settle(zkl_line *line) {
    look_again(line);
    if (line->list_wanted && !line->list_sent && line->context->port && line->members.first)
        zkl_send_list(line);
    if (!line->members.first)
        zkl_line_idle(line); /* a watch that was to be taken back may be gone now */
    zkl_line_mark_dirty(line);
}
