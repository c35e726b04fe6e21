/* SPDX-License-Identifier: MIT */
/* notifier: a Unix socket with one reader, in the same process. It gets a byte for each batch of
 * events, or for each ring. */
#include "base/entropy.h"
#include "base/event.h"
#include "base/process.h"
#include "client/access.h"
#include "zklock_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct zkl_notifier {
    zkl_client *client; /* NULL: only rings */
    unsigned process;
    int listener, link; /* -1: none */
    struct sockaddr_un address;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

static bool make_directory(zkl_notifier *notifier) {
    const char *const below[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        if (!below[i] || below[i][0] != '/')
            continue;
        const int length =
            snprintf(notifier->directory, sizeof notifier->directory, "%s/zklock-XXXXXX", below[i]);
        /* is there room for the socket's own name? */
        if (length > 0 && (size_t)length + sizeof "/events" <= sizeof notifier->address.sun_path &&
            mkdtemp(notifier->directory))
            return true;
    }
    notifier->directory[0] = '\0';
    return false;
}

static void remove_files(zkl_notifier *notifier) {
    if (!notifier->directory[0])
        return;
    unlink(notifier->address.sun_path);
    rmdir(notifier->directory);
    notifier->directory[0] = '\0';
}

static void stop_listening(zkl_notifier *notifier) {
    if (notifier->listener >= 0)
        close(notifier->listener);
    notifier->listener = -1;
    remove_files(notifier);
}

/* Only the owner can connect: mkdtemp creates a directory for its owner alone. */
static void name_file(zkl_notifier *notifier) {
    snprintf(notifier->path, sizeof notifier->path, "%.*s/events",
             (int)(sizeof notifier->path - sizeof "/events"), notifier->directory);
    memcpy(notifier->address.sun_path, notifier->path, sizeof notifier->path);
}

/* For a process without directories (in a chroot, say): an abstract name, which nginx does not
 * support. Anybody can connect, so `is_us` matters. The name fills the address, as HAProxy's do. */
static bool name_abstractly(zkl_notifier *notifier) {
    unsigned char bytes[8];
    errno = ENOSYS;
    if (!zkl_entropy(bytes, sizeof bytes))
        return false;
    int at = snprintf(notifier->path, sizeof notifier->path, "@zklock-");
    for (size_t i = 0; i < sizeof bytes; i++)
        at += snprintf(notifier->path + at, sizeof notifier->path - (size_t)at, "%02x", bytes[i]);
    memcpy(notifier->address.sun_path, notifier->path, sizeof notifier->path);
    notifier->address.sun_path[0] = '\0';
    return true;
}

static bool start_listening(zkl_notifier *notifier) {
    notifier->address.sun_family = AF_UNIX;
    if (make_directory(notifier))
        name_file(notifier);
    else if (!name_abstractly(notifier))
        return false;
    notifier->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return notifier->listener >= 0 &&
           bind(notifier->listener, (struct sockaddr *)&notifier->address,
                sizeof notifier->address) == 0 &&
           listen(notifier->listener, 1) == 0;
}

zkl_notifier *zkl_notifier_open(zkl_client *client) {
    zkl_notifier *notifier = calloc(1, sizeof *notifier);
    if (!notifier)
        return NULL;
    notifier->listener = notifier->link = -1;
    if (!start_listening(notifier)) {
        const int why = errno;
        stop_listening(notifier);
        free(notifier);
        errno = why;
        return NULL;
    }
    if (client)
        zkl_client_use(client);
    notifier->client = client;
    notifier->process = zkl_process_generation();
    return notifier;
}

const char *zkl_notifier_path(const zkl_notifier *notifier) {
    return notifier->path;
}

static bool is_us(int link) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(link, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        return false;
    errno = EPERM;
    return peer.pid == getpid();
}

bool zkl_notifier_answer(zkl_notifier *notifier) {
    const int link = accept4(notifier->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const int why = errno;
    stop_listening(notifier);
    errno = why;
    if (link < 0)
        return false;
    if (!is_us(link)) {
        close(link);
        return false;
    }
    notifier->link = link;
    if (notifier->client)
        zkl_events_notify_at(zkl_client_events(notifier->client), link);
    return true;
}

/* If the socket does not take the byte, the host has not read the earlier ones yet, and needs no
 * more. */
void zkl_notifier_ring(zkl_notifier *notifier) {
    if (notifier->link >= 0 && notifier->process == zkl_process_generation())
        send(notifier->link, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A forked child shares the connection with its parent, who goes on. */
void zkl_notifier_drop(zkl_notifier *notifier) {
    if (!notifier)
        return;
    zkl_client *client = notifier->client;
    const bool is_ours = notifier->process == zkl_process_generation();
    if (is_ours)
        stop_listening(notifier);
    else if (notifier->listener >= 0)
        close(notifier->listener);
    if (notifier->link >= 0) {
        if (client && is_ours)
            zkl_events_notify_no_more(zkl_client_events(client), notifier->link);
        if (is_ours)
            shutdown(notifier->link, SHUT_RDWR);
        close(notifier->link);
    }
    if (client && is_ours)
        zkl_client_unuse(client);
    free(notifier);
}
