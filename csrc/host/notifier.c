/* notifier: a Unix socket that one reader in this same process is connected to, and that gets a
 * byte for each batch of events. */
#include "base/event.h"
#include "client/access.h"
#include "zklock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct zkl_notifier {
    zkl_client *client;
    int listener, link; /* -1: none */
    struct sockaddr_un address;
    char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* An abstract name would need no directory, but cosockets do not know them. */
static bool make_directory(zkl_notifier *notifier) {
    const char *const below[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        if (!below[i] || below[i][0] != '/')
            continue;
        const int length =
            snprintf(notifier->directory, sizeof notifier->directory, "%s/zklock-XXXXXX", below[i]);
        /* room for the socket's own name? */
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

/* Nobody else can connect: mkdtemp's directory is its owner's alone. */
static bool start_listening(zkl_notifier *notifier) {
    notifier->address.sun_family = AF_UNIX;
    if (!make_directory(notifier))
        return false;
    snprintf(notifier->address.sun_path, sizeof notifier->address.sun_path, "%.*s/events",
             (int)(sizeof notifier->address.sun_path - sizeof "/events"), notifier->directory);
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
    zkl_client_use(client);
    notifier->client = client;
    return notifier;
}

const char *zkl_notifier_path(const zkl_notifier *notifier) {
    return notifier->address.sun_path;
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
    zkl_events_notify_at(zkl_client_events(notifier->client), link);
    return true;
}

void zkl_notifier_drop(zkl_notifier *notifier) {
    stop_listening(notifier);
    if (notifier->link >= 0) {
        if (!zkl_client_forked(notifier->client)) {
            zkl_events_notify_at(zkl_client_events(notifier->client), -1);
            shutdown(notifier->link, SHUT_RDWR);
        }
        close(notifier->link);
    }
    if (!zkl_client_forked(notifier->client))
        zkl_client_unuse(notifier->client);
    free(notifier);
}
