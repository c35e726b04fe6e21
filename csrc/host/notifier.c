/* bell: a Unix socket for one caller of this same process, who reads a byte for each batch of events. */
#include "client/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct zkl_bell {
    zkl_client *client;
    int listener, link; /* -1: none */
    struct sockaddr_un address;
    char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* An abstract name would need no directory, but cosockets do not know them. */
static bool make_directory(zkl_bell *bell) {
    const char *const below[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        if (!below[i] || below[i][0] != '/')
            continue;
        const int length =
            snprintf(bell->directory, sizeof bell->directory, "%s/zklock-XXXXXX", below[i]);
        /* room for the socket's own name? */
        if (length > 0 && (size_t)length + sizeof "/bell" <= sizeof bell->address.sun_path &&
            mkdtemp(bell->directory))
            return true;
    }
    bell->directory[0] = '\0';
    return false;
}

static void remove_files(zkl_bell *bell) {
    if (!bell->directory[0])
        return;
    unlink(bell->address.sun_path);
    rmdir(bell->directory);
    bell->directory[0] = '\0';
}

static void stop_listening(zkl_bell *bell) {
    if (bell->listener >= 0)
        close(bell->listener);
    bell->listener = -1;
    remove_files(bell);
}

/* Nobody else can connect: mkdtemp's directory is its owner's alone. */
static bool start_listening(zkl_bell *bell) {
    bell->address.sun_family = AF_UNIX;
    if (!make_directory(bell))
        return false;
    snprintf(bell->address.sun_path, sizeof bell->address.sun_path, "%.*s/bell",
             (int)(sizeof bell->address.sun_path - sizeof "/bell"), bell->directory);
    bell->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return bell->listener >= 0 &&
           bind(bell->listener, (struct sockaddr *)&bell->address, sizeof bell->address) == 0 &&
           listen(bell->listener, 1) == 0;
}

zkl_bell *zkl_bell_open(zkl_client *client) {
    zkl_bell *bell = calloc(1, sizeof *bell);
    if (!bell)
        return NULL;
    bell->listener = bell->link = -1;
    if (!start_listening(bell)) {
        const int why = errno;
        stop_listening(bell);
        free(bell);
        errno = why;
        return NULL;
    }
    zkl_client_use(client);
    bell->client = client;
    return bell;
}

const char *zkl_bell_path(const zkl_bell *bell) {
    return bell->address.sun_path;
}

static bool is_us(int link) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(link, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        return false;
    errno = EPERM;
    return peer.pid == getpid();
}

bool zkl_bell_answer(zkl_bell *bell) {
    const int link = accept4(bell->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const int why = errno;
    stop_listening(bell);
    errno = why;
    if (link < 0)
        return false;
    if (!is_us(link)) {
        close(link);
        return false;
    }
    bell->link = link;
    zkl_events_ring_at(zkl_client_events(bell->client), link);
    return true;
}

void zkl_bell_drop(zkl_bell *bell) {
    stop_listening(bell);
    if (bell->link >= 0) {
        if (!zkl_client_forked(bell->client)) {
            zkl_events_ring_at(zkl_client_events(bell->client), -1);
            shutdown(bell->link, SHUT_RDWR);
        }
        close(bell->link);
    }
    if (!zkl_client_forked(bell->client))
        zkl_client_unuse(bell->client);
    free(bell);
}
