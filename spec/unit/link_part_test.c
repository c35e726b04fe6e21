/* SPDX-License-Identifier: MIT */
/* How a session is taken off a handle of libzookeeper, which finds a server at that moment. The
 * handle is made up: what its threads do meanwhile happens in the pause. */
#include "check.h"

#include "zookeeper/link.h"
#include "zookeeper/link_state.h"
#include "zookeeper/socket.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

enum { OURS = 7, NEW = 8 };

typedef struct handle_socket {
    int fd;
    void *tls;
} handle_socket;

/* As handles begin since 3.6; the rest is the test's own. */
static struct {
    handle_socket *socket;
    clientid_t id;
    int state;
} handle;

static handle_socket own;
static int listening;
static int64_t found;    /* the session that a server confirms in the pause; 0: none is found */
static unsigned answers; /* how often */
static unsigned pauses;  /* those that pass before the handle notices that it is cut */
static zkl_link the_link;

static zhandle_t *the_handle(void) {
    return (zhandle_t *)&handle;
}

int zoo_state(zhandle_t *zh) {
    CHECK(zh == the_handle());
    return handle.state;
}

const clientid_t *zoo_client_id(zhandle_t *zh) {
    CHECK(zh == the_handle());
    return &handle.id;
}

static bool is_hung_up(void) {
    char byte;
    return recv(own.fd, &byte, 1, MSG_DONTWAIT) == 0 || errno != EAGAIN;
}

int nanosleep(const struct timespec *pause, struct timespec *left) {
    (void)pause;
    (void)left;
    if (pauses > 0)
        pauses--;
    else if (is_hung_up())
        handle.state = ZOO_CONNECTING_STATE;
    if (found && answers > 0) {
        answers--;
        handle.id.client_id = found;
        handle.state = ZOO_CONNECTED_STATE;
    }
    return 0;
}

static void begin(void) {
    struct sockaddr_in server = {.sin_family = AF_INET};
    socklen_t length = sizeof server;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listening = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listening, (struct sockaddr *)&server, sizeof server) == 0);
    CHECK(listen(listening, 8) == 0);
    CHECK(getsockname(listening, (struct sockaddr *)&server, &length) == 0);
    own.fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(own.fd, (struct sockaddr *)&server, sizeof server) == 0);
    handle.socket = &own;
    handle.id = (clientid_t){.client_id = OURS, .passwd = "secret"};
    handle.state = ZOO_CONNECTING_STATE;
    found = 0;
    answers = UINT_MAX;
    pauses = 0;
    memset(&the_link, 0, sizeof the_link);
    the_link.handle = the_handle();
}

static void end(void) {
    close(own.fd);
    close(listening);
}

static bool parts(void) {
    zkl_identity identity;
    const bool parted = zkl_link_part(&the_link, &identity);
    CHECK_INT(identity.id, OURS);
    CHECK(strcmp(identity.password, "secret") == 0);
    return parted;
}

static void learn(void) {
    struct sockaddr_in server;
    socklen_t length = sizeof server;
    CHECK(getpeername(own.fd, (struct sockaddr *)&server, &length) == 0);
    zkl_socket_confirmed(the_handle(), (struct sockaddr *)&server, length);
}

/* First: nothing is known yet of where a handle has its socket. */
static void a_session_stays_with_a_connection_that_cannot_be_cut(void) {
    handle.state = ZOO_CONNECTED_STATE;
    CHECK(!parts());
    CHECK(!is_hung_up());
}

static void a_session_is_taken_off_a_handle_without_a_server(void) {
    CHECK(parts());
    CHECK_INT(handle.id.client_id, 0);
    CHECK_INT(handle.id.passwd[0], 0);
}

static void a_session_is_taken_off_a_connection_that_has_just_been_confirmed(void) {
    learn();
    handle.state = ZOO_CONNECTED_STATE;
    CHECK(parts());
    CHECK(is_hung_up());
}

static void a_session_is_taken_off_a_connection_that_is_slow_to_notice_that_it_is_cut(void) {
    learn();
    handle.state = ZOO_CONNECTED_STATE;
    pauses = 9;
    CHECK(parts());
    CHECK_INT(pauses, 0);
    CHECK_INT(handle.state, ZOO_CONNECTING_STATE);
}

static void a_session_that_a_server_confirms_in_between_is_taken_after_all(void) {
    learn();
    found = OURS;
    answers = 1;
    CHECK(parts());
    CHECK_INT(handle.id.client_id, 0);
}

/* The id is there again, and the next connection would ask for that session. */
static void a_session_is_not_taken_while_its_id_comes_back(void) {
    found = OURS;
    CHECK(!parts());
}

static void a_handle_may_find_a_session_of_its_own(void) {
    found = NEW;
    CHECK(parts());
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a session stays with a connection that cannot be cut",
         a_session_stays_with_a_connection_that_cannot_be_cut},
        {"a session is taken off a handle without a server",
         a_session_is_taken_off_a_handle_without_a_server},
        {"a session is taken off a connection that has just been confirmed",
         a_session_is_taken_off_a_connection_that_has_just_been_confirmed},
        {"a session is taken off a connection that is slow to notice that it is cut",
         a_session_is_taken_off_a_connection_that_is_slow_to_notice_that_it_is_cut},
        {"a session that a server confirms in between is taken after all",
         a_session_that_a_server_confirms_in_between_is_taken_after_all},
        {"a session is not taken while its id comes back",
         a_session_is_not_taken_while_its_id_comes_back},
        {"a handle may find a session of its own", a_handle_may_find_a_session_of_its_own},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
