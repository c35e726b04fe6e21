#include "queue/settle.h"

#include "queue/crowd.h"
#include "queue/evaluate.h"
#include "queue/send.h"

/* Looking at one may mark others. */
static void look_again(zkl_line *line) {
    while (line->review || line->crowded) {
        const bool crowded = line->crowded;
        line->review = line->crowded = false;
        if (crowded)
            zkl_crowd_thin(line);
        ZKL_EACH (zkl_contender, c, &line->members, member) {
            if (!c->review)
                continue;
            c->review = false;
            zkl_evaluate(c, ZKL_BY_NEWS);
        }
    }
}

void zkl_line_settle(zkl_line *line) {
    look_again(line);
    if (line->list_wanted && !line->list_sent && line->context->port && line->members.first)
        zkl_send_list(line);
    if (!line->members.first)
        zkl_line_idle(line); /* a watch that was to be taken back may be gone now */
    zkl_line_stir(line);
}
