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
    events->queued = (zkl_list){0};
    events->serial = 0;
    events->signalled = false;
    events->notifier = -1;
    return true;
}

void zkl_events_destroy(zkl_events *events) {
    zkl_events_hang_up(events);
    pthread_mutex_destroy(&events->mutex);
}

/* locked. A byte that the socket does not take is not needed: the host has not read the ones before
 * it yet. */
static void notify(zkl_events *events) {
    if (events->notifier >= 0)
        send(events->notifier, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* locked. One write for however many events: the counter stays set until the queue has run
 * empty. */
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

void zkl_events_post(zkl_events *events, zkl_event *event, int status, int64_t token) {
    pthread_mutex_lock(&events->mutex);
    event->status = status;
    event->token = token;
    event->serial = ++events->serial;
    if (!event->queued) {
        event->queued = true;
        zkl_list_append(&events->queued, &event->item);
    }
    signal_once(events);
    pthread_mutex_unlock(&events->mutex);
}

/* locked. Takes as long however many there are: a host may drop all of them in a finalizer. */
static void unlink_event(zkl_events *events, zkl_event *event) {
    zkl_list_remove(&events->queued, &event->item);
    event->queued = false;
}

void zkl_events_drop(zkl_events *events, zkl_event *event) {
    pthread_mutex_lock(&events->mutex);
    if (event->queued)
        unlink_event(events, event);
    pthread_mutex_unlock(&events->mutex);
}

/* locked */
static bool copy_oldest(const zkl_events *events, zkl_event *copy) {
    const zkl_event *event = ZKL_FIRST(&events->queued, zkl_event, item);
    if (event)
        *copy = *event;
    return event != NULL;
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
    const bool any = copy_oldest(events, copy);
    if (!any && events->signalled)
        take_signal_back(events);
    pthread_mutex_unlock(&events->mutex);
    return any;
}

bool zkl_events_look(zkl_events *events, zkl_event *copy) {
    pthread_mutex_lock(&events->mutex);
    const bool any = copy_oldest(events, copy) && !copy->unhurried;
    pthread_mutex_unlock(&events->mutex);
    return any;
}

void zkl_events_forget(zkl_events *events, uint64_t serial) {
    pthread_mutex_lock(&events->mutex);
    zkl_event *event = ZKL_FIRST(&events->queued, zkl_event, item);
    if (event && event->serial == serial)
        unlink_event(events, event);
    pthread_mutex_unlock(&events->mutex);
}

void zkl_events_notify_at(zkl_events *events, int notifier) {
    pthread_mutex_lock(&events->mutex);
    events->notifier = notifier;
    if (events->signalled)
        notify(events);
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
