/* SPDX-License-Identifier: MIT */
#include "ask/ask.h"

static zkl_list *list_of(zkl_ask *ask) {
    return ask->stage == ZKL_ASK_DUE ? &ask->all->due : &ask->all->open;
}

void zkl_ask_set_stage(zkl_ask *ask, zkl_ask_stage to) {
    if (ask->stage != ZKL_ASK_DONE)
        zkl_list_remove(list_of(ask), &ask->item);
    ask->stage = to;
    if (to != ZKL_ASK_DONE)
        zkl_list_append(list_of(ask), &ask->item);
}

void zkl_ask_answer(zkl_ask *ask, zkl_status status) {
    if (ask->stage == ZKL_ASK_DONE)
        return;
    status = ask->call->end(ask, status);
    zkl_ask_set_stage(ask, ZKL_ASK_DONE);
    zkl_timer_clear(&ask->all->context->timers, &ask->deadline);
    if (ask->told)
        ask->told(ask->of, status);
    else
        zkl_events_post(&ask->all->context->events, &ask->answer, status, 0);
}

void zkl_ask_give_up(zkl_ask *ask, zkl_status status) {
    zkl_ask_answer(ask, ask->call->give_up ? ask->call->give_up(ask, status) : status);
}

bool zkl_ask_end_unreached(zkl_ask *ask) {
    if (*ask->all->state == ZKL_STATE_AUTH_FAILED)
        zkl_ask_answer(ask, ZKL_AUTH_FAILED);
    else if (ask->once && !zkl_context_is_linked(ask->all->context))
        zkl_ask_answer(ask, ZKL_DISCONNECTED);
    return ask->stage == ZKL_ASK_DONE;
}

static void deadline_passed(zkl_timer *timer) {
    zkl_ask *ask = ZKL_CONTAINER_OF(timer, zkl_ask, deadline);
    const bool linked = zkl_context_is_linked(ask->all->context);
    zkl_ask_give_up(ask, linked ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
}

void zkl_ask_init(zkl_ask *ask, zkl_asks *all, const zkl_ask_call *call, uint64_t tag) {
    ask->all = all;
    ask->call = call;
    ask->deadline.fire = deadline_passed;
    ask->answer.kind = ZKL_EVENT_ANSWER;
    ask->answer.tag = tag;
}

void zkl_ask_start(zkl_ask *ask, zkl_nanos deadline) {
    zkl_ask_set_stage(ask, ZKL_ASK_DUE);
    zkl_timer_set(&ask->all->context->timers, &ask->deadline, ask->once ? ZKL_NEVER : deadline);
    ask->call->begin(ask);
}

void zkl_ask_free(zkl_ask *ask) {
    zkl_timer_clear(&ask->all->context->timers, &ask->deadline);
    zkl_events_drop(&ask->all->context->events, &ask->answer);
    if (ask->stage != ZKL_ASK_DONE)
        zkl_list_remove(list_of(ask), &ask->item);
    ask->call->free(ask);
}

void zkl_asks_step(zkl_asks *all) {
    ZKL_EACH (zkl_ask, ask, &all->due, item) {
        ask->call->step(ask);
    }
}

void zkl_asks_give_up(zkl_asks *all, zkl_status status) {
    ZKL_EACH (zkl_ask, due, &all->due, item) {
        zkl_ask_give_up(due, status);
    }
    ZKL_EACH (zkl_ask, open, &all->open, item) {
        zkl_ask_give_up(open, status);
    }
}

static void forget(const zkl_list *list, const zkl_contender *held) {
    ZKL_EACH (zkl_ask, ask, list, item) {
        if (ask->held == held)
            ask->held = NULL;
    }
}

void zkl_asks_forget(zkl_asks *all, const zkl_contender *held) {
    forget(&all->due, held);
    forget(&all->open, held);
}
