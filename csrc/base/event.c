/* SPDX-License-Identifier: MIT */
#include "base/event.h"

#include <errno.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

bool zkl_events_init(zkl_events *events) {
    events->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (events->fd < 0)
        return false;
    pthread_mutex_init(&events->mutex, NULL);
    zkl_clock_cond_init(&events->posted);
    events->awaited = false;
    events->queued = (zkl_list){0};
    events->serial = 0;
    events->signalled = false;
    events->muted = 0;
    events->notifier = -1;
    return true;
}

void zkl_events_destroy(zkl_events *events) {
    zkl_events_hang_up(events);
    pthread_cond_destroy(&events->posted);
    pthread_mutex_destroy(&events->mutex);
}

/* locked. If the socket does not take the byte, the host has not read the earlier ones yet, and
 * needs no more. */
static void notify(zkl_events *events) {
    if (events->notifier >= 0)
        send(events->notifier, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* locked. One write for any number of events: the counter stays set until the queue is empty. */
static void signal_once(zkl_events *events) {
    if (events->signalled)
        return;
    events->signalled = true;
    const uint64_t one = 1;
    /* A write of 1 to an eventfd that holds at most 1 cannot fail or block. */
    while (events->fd >= 0 && write(events->fd, &one, sizeof one) < 0)
        continue;
    notify(events);
}

void zkl_events_post(zkl_events *events, zkl_notice *notice, zkl_status status, int64_t token) {
    pthread_mutex_lock(&events->mutex);
    notice->status = status;
    notice->token = token;
    notice->serial = ++events->serial;
    if (!notice->queued) {
        notice->queued = true;
        zkl_list_append(&events->queued, &notice->item);
    }
    if (!events->muted)
        signal_once(events);
    if (events->awaited)
        pthread_cond_signal(&events->posted);
    pthread_mutex_unlock(&events->mutex);
}

/* locked. Takes the same time however many events there are: a host may drop all of them in a
 * finalizer. */
static void unlink_notice(zkl_events *events, zkl_notice *notice) {
    zkl_list_remove(&events->queued, &notice->item);
    notice->queued = false;
}

void zkl_events_drop(zkl_events *events, zkl_notice *notice) {
    pthread_mutex_lock(&events->mutex);
    if (notice->queued)
        unlink_notice(events, notice);
    pthread_mutex_unlock(&events->mutex);
}

static zkl_event event_of(const zkl_notice *notice) {
    const bool of_session = notice->kind == ZKL_EVENT_STATE;
    return (zkl_event){.serial = notice->serial,
                       .tag = notice->tag,
                       .token = notice->token,
                       .status = of_session ? ZKL_OK : notice->status,
                       .kind = notice->kind,
                       .state = of_session ? (zkl_state)notice->status : ZKL_STATE_CONNECTING};
}

/* locked */
static const zkl_notice *copy_oldest(const zkl_events *events, zkl_event *copy) {
    const zkl_notice *notice = ZKL_FIRST(&events->queued, zkl_notice, item);
    if (notice)
        *copy = event_of(notice);
    return notice;
}

/* locked */
static void take_signal_back(zkl_events *events) {
    uint64_t count;
    while (events->fd >= 0 && read(events->fd, &count, sizeof count) < 0 && errno == EINTR)
        continue;
    events->signalled = false;
}

bool zkl_events_peek(zkl_events *events, zkl_event *copy) {
    pthread_mutex_lock(&events->mutex);
    const bool any = copy_oldest(events, copy) != NULL;
    if (!any && events->signalled)
        take_signal_back(events);
    pthread_mutex_unlock(&events->mutex);
    return any;
}

bool zkl_events_look(zkl_events *events, zkl_event *copy) {
    pthread_mutex_lock(&events->mutex);
    const zkl_notice *oldest = copy_oldest(events, copy);
    const bool any = oldest && !oldest->unhurried;
    pthread_mutex_unlock(&events->mutex);
    return any;
}

void zkl_events_mute(zkl_events *events) {
    pthread_mutex_lock(&events->mutex);
    events->muted++;
    pthread_mutex_unlock(&events->mutex);
}

void zkl_events_unmute(zkl_events *events) {
    pthread_mutex_lock(&events->mutex);
    events->muted--;
    if (!events->muted && events->queued.first)
        signal_once(events);
    pthread_mutex_unlock(&events->mutex);
}

/* State and log have no subject. */
static bool is_of(const zkl_notice *notice, uint64_t tag) {
    return notice->tag == tag && notice->kind != ZKL_EVENT_STATE && notice->kind != ZKL_EVENT_LOG;
}

/* locked */
static bool take(zkl_events *events, uint64_t tag, zkl_event *taken) {
    ZKL_EACH (zkl_notice, notice, &events->queued, item) {
        if (is_of(notice, tag)) {
            *taken = event_of(notice);
            unlink_notice(events, notice);
            return true;
        }
    }
    return false;
}

zkl_status zkl_events_await(zkl_events *events, const zkl_clock *clock, const atomic_bool *over,
                            uint64_t tag, zkl_nanos until, zkl_event *taken) {
    pthread_mutex_lock(&events->mutex);
    events->awaited = true;
    bool any = take(events, tag, taken), in_time = true;
    while (!any && in_time && !*over) {
        in_time = zkl_clock_wait(clock, &events->posted, &events->mutex, until);
        any = take(events, tag, taken);
    }
    events->awaited = false;
    pthread_mutex_unlock(&events->mutex);
    if (any)
        return ZKL_OK;
    return in_time ? ZKL_CLOSED : ZKL_TIMEOUT;
}

void zkl_events_forget(zkl_events *events, uint64_t serial) {
    pthread_mutex_lock(&events->mutex);
    zkl_notice *notice = ZKL_FIRST(&events->queued, zkl_notice, item);
    if (notice && notice->serial == serial)
        unlink_notice(events, notice);
    pthread_mutex_unlock(&events->mutex);
}

void zkl_events_notify_at(zkl_events *events, int notifier) {
    pthread_mutex_lock(&events->mutex);
    events->notifier = notifier;
    if (events->signalled)
        notify(events);
    pthread_mutex_unlock(&events->mutex);
}

void zkl_events_notify_no_more(zkl_events *events, int notifier) {
    pthread_mutex_lock(&events->mutex);
    if (events->notifier == notifier)
        events->notifier = -1;
    pthread_mutex_unlock(&events->mutex);
}

void zkl_events_hang_up(zkl_events *events) {
    pthread_mutex_lock(&events->mutex);
    if (events->fd >= 0)
        close(events->fd);
    events->fd = -1;
    pthread_mutex_unlock(&events->mutex);
}

void zkl_events_wake(zkl_events *events) {
    pthread_mutex_lock(&events->mutex);
    signal_once(events);
    pthread_mutex_unlock(&events->mutex);
}
