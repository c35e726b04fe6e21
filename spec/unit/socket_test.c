/* SPDX-License-Identifier: MIT */
/* The one socket of a handle among those of the process, with handles that the test makes up. */
#include "check.h"

#include "zookeeper/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* As handles of libzookeeper begin: since 3.6, and before. */
typedef struct handle_socket {
    int fd;
    void *tls;
} handle_socket;

typedef struct new_handle {
    handle_socket *socket;
} new_handle;

typedef struct old_handle {
    int fd, padding;
} old_handle;

static int listening, sockets[3];
static struct sockaddr_in server;

static int connect_to_server(void) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&server, sizeof server) == 0);
    return fd;
}

static void begin(void) {
    socklen_t length = sizeof server;
    server = (struct sockaddr_in){.sin_family = AF_INET};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listening = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listening >= 0 && bind(listening, (struct sockaddr *)&server, sizeof server) == 0);
    CHECK(listen(listening, 8) == 0);
    CHECK(getsockname(listening, (struct sockaddr *)&server, &length) == 0);
    for (size_t i = 0; i < 3; i++)
        sockets[i] = connect_to_server();
}

static void end(void) {
    for (size_t i = 0; i < 3; i++)
        close(sockets[i]);
    close(listening);
}

static const zhandle_t *handle_of(const void *made_up) {
    return made_up;
}

static void confirm(const void *handle) {
    zkl_socket_confirmed(handle_of(handle), (struct sockaddr *)&server, sizeof server);
}

static bool is_open(size_t i) {
    char byte;
    return recv(sockets[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static bool is_inherited(size_t i) {
    return !(fcntl(sockets[i], F_GETFD) & FD_CLOEXEC);
}

/* First, for a handle that has shown its socket stands for all of the process. */
static void nothing_is_hung_up_before_a_handle_has_shown_its_socket(void) {
    handle_socket first = {.fd = sockets[0]};
    const new_handle handle = {&first};
    zkl_socket_hang_up(handle_of(&handle));
    for (size_t i = 0; i < 3; i++)
        CHECK(is_open(i));
}

static void a_handle_that_begins_otherwise_shows_nothing(void) {
    old_handle handle = {.fd = sockets[0]};
    handle_socket elsewhere = {.fd = listening}, first = {.fd = sockets[0]};
    const new_handle wrong = {&elsewhere}, has_none = {NULL};
    confirm(&handle);
    for (size_t i = 0; i < 3; i++)
        CHECK(!is_inherited(i)); /* any of them may be it */
    confirm(&wrong);             /* that one is connected to nobody */
    confirm(&has_none);
    handle.fd = -1;
    confirm(&handle);
    const new_handle other = {&first};
    zkl_socket_hang_up(handle_of(&other));
    CHECK(is_open(0));
}

/* A big-endian machine reads an old handle as an address with a number in its upper half. */
static void a_number_is_no_address_in_either_half(void) {
    const struct halves { int first, second; } lower = {sockets[0], 0}, upper = {0, sockets[0]};
    _Alignas(void *) char bytes[sizeof lower];
    const struct halves *const both[] = {&lower, &upper};
    for (size_t i = 0; i < 2; i++) {
        memcpy(bytes, both[i], sizeof bytes);
        CHECK_INT(zkl_socket_presumed(handle_of(bytes)), -1);
    }
}

static void only_the_handles_own_socket_is_hung_up(void) {
    handle_socket second = {.fd = sockets[1]};
    const new_handle handle = {&second};
    confirm(&handle);
    CHECK(is_inherited(0) && !is_inherited(1) && is_inherited(2));
    const int again = connect_to_server(); /* the next connection of that handle */
    handle_socket next = {.fd = again};
    const new_handle later = {&next};
    zkl_socket_hang_up(handle_of(&later));
    for (size_t i = 0; i < 3; i++)
        CHECK(is_open(i));
    char byte;
    CHECK_INT(recv(again, &byte, 1, MSG_DONTWAIT), 0);
    close(again);
}

static void a_handle_without_a_connection_is_left_alone(void) {
    handle_socket none = {.fd = -1}, second = {.fd = sockets[1]};
    const new_handle shown = {&second}, handle = {&none};
    confirm(&shown);
    zkl_socket_hang_up(handle_of(&handle));
    for (size_t i = 0; i < 3; i++)
        CHECK(is_open(i));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"hangs up nothing before a handle has shown its socket",
         nothing_is_hung_up_before_a_handle_has_shown_its_socket},
        {"learns nothing from a handle that begins otherwise",
         a_handle_that_begins_otherwise_shows_nothing},
        {"takes a number for an address in neither half", a_number_is_no_address_in_either_half},
        {"hangs up only the handle's own socket", only_the_handles_own_socket_is_hung_up},
        {"leaves a handle without a connection alone", a_handle_without_a_connection_is_left_alone},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
