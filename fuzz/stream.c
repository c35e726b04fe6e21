/* SPDX-License-Identifier: MIT */
/* A server that says what it likes, to a whole client with the real libzookeeper: handshakes,
 * replies, watch events and bytes of any kind, in any order and of any length. Whatever comes,
 * everybody is answered once, and the client ends. */
#include "input.h"

#include "check.h"
#include "zklock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STEPS_MOST = 60, FRAME_MOST = 4096, TAGS = 16 };
#define PATIENCE (60 * ZKL_SECOND)
#define TURN 3     /* ms to wait for the client's next request */
#define SESSION 60 /* ms that are granted, as a rule */

/* Some bytes kill libzookeeper itself (libzookeeper.known). As a unit test the server is SANE in
 * form, and strange only in what it says. */
#ifdef SANE
enum { IS_SANE = 1 };
#else
enum { IS_SANE = 0 };
#endif

/* The numbers on the wire, as far as a server needs to know them. */
enum {
    OP_CREATE = 1,
    OP_EXISTS = 3,
    OP_GET = 4,
    OP_SET = 5,
    OP_GET_ACL = 6,
    OP_LIST = 8,
    OP_SYNC = 9,
    OP_PING = 11,
    OP_LIST_2 = 12,
    OP_MULTI = 14,
    OP_CREATE_2 = 15,
    OP_CREATE_CONTAINER = 19,
    XID_EVENT = -1
};

typedef struct frame {
    uint8_t bytes[FRAME_MOST];
    size_t length;
} frame;

typedef struct asked {
    int32_t xid, op;
    char path[300];
} asked;

static int listener = -1, link_fd = -1;
static char hosts[40];
static uint8_t unread[65536];
static size_t unread_length;
static unsigned answers[TAGS];

/* ---- frames ---- */

static void put(frame *to, const void *bytes, size_t length) {
    if (length > sizeof to->bytes - to->length)
        length = sizeof to->bytes - to->length;
    if (length > 0)
        memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void put_int(frame *to, int32_t value) {
    const uint32_t big = htonl((uint32_t)value);
    put(to, &big, sizeof big);
}

static void put_long(frame *to, int64_t value) {
    put_int(to, (int32_t)(value >> 32));
    put_int(to, (int32_t)value);
}

static void put_text(frame *to, const char *text) {
    put_int(to, (int32_t)strlen(text));
    put(to, text, strlen(text));
}

static void put_stat(frame *to, input *in) {
    put_long(to, 7 + input_any(in, 3)); /* czxid */
    put_long(to, 9);
    put_long(to, 0);
    put_long(to, 0);
    put_int(to, (int32_t)input_any(in, 3));
    put_int(to, 0);
    put_int(to, 0);
    put_long(to, input_any(in, 2) ? 5 : 0x77);
    put_int(to, 0);
    put_int(to, (int32_t)input_any(in, 3));
    put_long(to, 9);
}

/* Extremes, and what is nearly right. */
static int32_t strange_int(input *in) {
    static const int32_t values[] = {-1, 0, 1, INT32_MAX, INT32_MIN, 0x10000, 100, -2, 0x7fffff, 4};
    return values[input_any(in, sizeof values / sizeof *values)];
}

static void spoil(frame *f, input *in) {
    if (IS_SANE)
        return;
    for (unsigned n = input_any(in, 4); n > 0 && f->length > 4; n--) {
        const size_t at = input_any(in, (unsigned)f->length);
        const uint32_t big = htonl((uint32_t)strange_int(in));
        if (input_any(in, 2) && at + sizeof big <= f->length)
            memcpy(f->bytes + at, &big, sizeof big);
        else
            f->bytes[at] = (uint8_t)input_any(in, 256);
    }
    if (input_any(in, 4) == 0)
        f->length = input_any(in, (unsigned)f->length + 1);
}

static void send_bytes(const void *bytes, size_t length) {
    if (link_fd >= 0 && send(link_fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        close(link_fd);
        link_fd = -1;
    }
}

static void send_frame(const frame *f, int32_t length) {
    frame whole = {.length = 0};
    put_int(&whole, length);
    put(&whole, f->bytes, f->length);
    send_bytes(whole.bytes, whole.length);
}

/* ---- the server's side ---- */

static void hang_up(void) {
    if (link_fd >= 0)
        close(link_fd);
    link_fd = -1;
    unread_length = 0;
}

static bool readable(int fd, int timeout) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, timeout) > 0;
}

static void take_in(int timeout) {
    if (link_fd < 0 && readable(listener, timeout))
        link_fd = accept(listener, NULL, NULL);
    if (link_fd < 0 || unread_length == sizeof unread || !readable(link_fd, timeout))
        return;
    const ssize_t n =
        recv(link_fd, unread + unread_length, sizeof unread - unread_length, MSG_DONTWAIT);
    if (n > 0)
        unread_length += (size_t)n;
    else if (n == 0 || errno != EAGAIN)
        hang_up();
}

static int32_t int_at(size_t at) {
    uint32_t big = 0;
    if (at + sizeof big <= unread_length)
        memcpy(&big, unread + at, sizeof big);
    return (int32_t)ntohl(big);
}

/* The client's next request; the first one over a link has the op 0. */
static bool next_request(asked *request, int timeout) {
    if (unread_length < 4)
        take_in(timeout);
    const size_t length = (uint32_t)int_at(0);
    if (unread_length < 4 || length > sizeof unread - 4 || unread_length < 4 + length)
        return false;
    *request = (asked){.xid = int_at(4), .op = int_at(8), .path = "/"};
    if (request->op == OP_MULTI || length == 44 || length == 45)
        request->op = request->op == OP_MULTI ? OP_MULTI : 0;
    const size_t named =
        request->op > 0 && request->op < 100 && length >= 12 ? (uint32_t)int_at(12) : 0;
    if (named > 0 && named < sizeof request->path && 16 + named <= 4 + length) {
        memcpy(request->path, unread + 16, named);
        request->path[named] = '\0';
    }
    unread_length -= 4 + length;
    memmove(unread, unread + 4 + length, unread_length);
    return true;
}

static void put_names(frame *f, input *in) {
    static const char *const names[] = {
        "_c_00000000-0000-4000-8000-000000000000-lock-0000000001",
        "x-lock-0000000000",
        "",
        "lock-",
        "y-__READ__0000000002",
        "z-lease-0000000009",
    };
    const unsigned count = input_any(in, 5);
    put_int(f, (int32_t)count);
    for (unsigned i = 0; i < count; i++)
        put_text(f, names[input_any(in, sizeof names / sizeof *names)]);
}

static void put_made(frame *f, input *in, const char *path) {
    char made[340];
    snprintf(made, sizeof made, "%s%010u", path, input_any(in, 3));
    put_text(f, path[strlen(path) - 1] == '-' ? made : path);
}

static void put_acls(frame *f, input *in) {
    put_int(f, 1);
    put_int(f, (int32_t)input_any(in, 32));
    put_text(f, input_any(in, 2) ? "world" : "ip");
    put_text(f, "anyone");
}

static void put_results(frame *f, input *in) {
    for (unsigned n = input_any(in, 4); n > 0; n--) {
        const unsigned kind = input_any(in, 4);
        const int32_t op = kind == 0 ? -1 : (int32_t)(kind == 1 ? 1 : kind == 2 ? 5 : 2);
        put_int(f, op);
        put(f, "", 1);
        put_int(f, op == -1 ? -101 : 0);
        if (op == -1)
            put_int(f, -101);
        else if (op == 1)
            put_text(f, "/l/x-lock-0000000001");
        else if (op == 5)
            put_stat(f, in);
    }
    put_int(f, -1);
    put(f, "\1", 1);
    put_int(f, -1);
}

/* A server's reply. */
static void put_reply(frame *f, input *in, const asked *request) {
    switch (request->op) {
    case OP_CREATE:
        put_made(f, in, request->path);
        break;
    case OP_CREATE_2:
    case OP_CREATE_CONTAINER:
        put_made(f, in, request->path);
        put_stat(f, in);
        break;
    case OP_EXISTS:
    case OP_SET:
        put_stat(f, in);
        break;
    case OP_GET:
        put_text(f, input_any(in, 2) ? "__REVOKE__" : "me");
        put_stat(f, in);
        break;
    case OP_GET_ACL:
        put_acls(f, in);
        put_stat(f, in);
        break;
    case OP_LIST:
        put_names(f, in);
        break;
    case OP_LIST_2:
        put_names(f, in);
        put_stat(f, in);
        break;
    case OP_SYNC:
        put_text(f, request->path);
        break;
    case OP_MULTI:
        put_results(f, in);
        break;
    default:
        break;
    }
}

static void put_head(frame *f, int32_t xid, int64_t zxid, int32_t error) {
    put_int(f, xid);
    put_long(f, zxid);
    put_int(f, error);
}

static void put_greeting(frame *f, int32_t timeout, int64_t session) {
    put_int(f, 0);
    put_int(f, timeout);
    put_long(f, session); /* 0: it is over */
    put_int(f, 16);
    put(f, "0123456789abcdef", 16);
    put(f, "", 1);
}

static void greet(frame *f, input *in) {
    const int32_t timeout = IS_SANE || input_any(in, 8) ? SESSION : strange_int(in);
    put_greeting(f, timeout, input_any(in, 8) ? 5 : 0);
    f->length -= input_any(in, 2); /* old servers say one byte less */
}

static void answer(input *in, const asked *request) {
    frame f = {.length = 0};
    const unsigned way = input_any(in, IS_SANE ? 3 : 16);
    const int32_t error = way == 1 ? -101 : way == 2 ? -(int32_t)input_any(in, 130) : 0;
    if (IS_SANE && request->op == OP_MULTI) {
        hang_up();
        return;
    }
    if (request->op == 0) {
        greet(&f, in);
    } else {
        put_head(&f, way == 3 ? strange_int(in) : request->xid, way == 4 ? -1 : 9, error);
        if (error == 0 || way == 5)
            put_reply(&f, in, request);
    }
    if (way >= 12)
        spoil(&f, in);
    send_frame(&f, way == 6 ? strange_int(in) : (int32_t)f.length);
}

static void tell(input *in) {
    static const char *const paths[] = {"/l", "/n", "/l/x-lock-0000000000", "", "no path"};
    frame f = {.length = 0};
    put_head(&f, XID_EVENT, -1, 0);
    put_int(&f, (int32_t)input_any(in, 7) - 2);
    put_int(&f, input_any(in, 2) ? 3 : strange_int(in));
    put_text(&f, paths[input_any(in, sizeof paths / sizeof *paths)]);
    if (input_any(in, 4) == 0)
        spoil(&f, in);
    send_frame(&f, (int32_t)f.length);
}

static void rave(input *in) {
    uint8_t bytes[80];
    const unsigned length = input_any(in, sizeof bytes);
    for (unsigned i = 0; i < length; i++)
        bytes[i] = (uint8_t)input_any(in, 256);
    send_bytes(bytes, length);
}

static void server_step(input *in) {
    asked request;
    switch (input_any(in, IS_SANE ? 14 : 16)) {
    case 0:
        tell(in);
        break;
    case 1:
        if (input_any(in, 2))
            hang_up();
        break;
    case 14:
        rave(in);
        break;
    case 15: /* what nobody has asked: seldom, for libzookeeper mostly dies of it */
        if (input_any(in, 16) > 0)
            break;
        request = (asked){.xid = strange_int(in), .op = (int32_t)input_any(in, 20), .path = "/l"};
        answer(in, &request);
        break;
    default:
        if (next_request(&request, TURN))
            answer(in, &request);
        break;
    }
}

/* ---- the client's side ---- */

typedef struct host {
    zkl_client *client;
    zkl_contender *contenders[3];
    zkl_query *queries[3];
    zkl_node_request *requests[4];
    zkl_node_watch *views[2];
} host;

enum { TAG_CONTENDER = 1, TAG_QUERY = 4, TAG_NODE_REQUEST = 8, TAG_VIEW = 12 };

static void take_events(host *h) {
    zkl_event event;
    while (zkl_peek(h->client, &event)) {
        CHECK(event.tag < TAGS);
        answers[event.tag] += event.kind == ZKL_EVENT_GRANTED || event.kind == ZKL_EVENT_FAILED ||
                              event.kind == ZKL_EVENT_ANSWER;
        for (size_t i = 0; i < 2; i++) {
            zkl_status status;
            zkl_content *content = NULL; /* there is none of a node that is not there */
            if (h->views[i] && zkl_node_watch_take(h->views[i], &status, &content) && content)
                zkl_content_free(content);
        }
        zkl_forget(h->client, event.serial);
    }
}

static void ask(host *h) {
    const zkl_nanos deadline = zkl_now() + PATIENCE;
    const zkl_sharing sharing = {.size = sizeof sharing, .stint = ZKL_SECOND, .linger = ZKL_SECOND};
    const zkl_terms fair = {.size = sizeof(zkl_terms), .kind = ZKL_KIND_LOCK, .deadline = deadline};
    const zkl_terms unfair = {.size = sizeof(zkl_terms),
                              .kind = ZKL_KIND_LOCK,
                              .deadline = deadline,
                              .sharing = &sharing};
    const zkl_terms read = {.size = sizeof(zkl_terms), .kind = ZKL_KIND_READ, .deadline = deadline};
    CHECK_INT(zkl_join(h->client, "/l", TAG_CONTENDER, &fair, &h->contenders[0]), ZKL_OK);
    CHECK_INT(zkl_join(h->client, "/l", TAG_CONTENDER + 1, &unfair, &h->contenders[1]), ZKL_OK);
    CHECK_INT(zkl_join(h->client, "/rw", TAG_CONTENDER + 2, &read, &h->contenders[2]), ZKL_OK);
    h->queries[0] = zkl_query_participants(h->client, "/l", false, TAG_QUERY, deadline, false);
    h->queries[1] = zkl_query_revoke(h->client, "/l", false, TAG_QUERY + 1, deadline, false);
    h->queries[2] = zkl_query_session(h->client, TAG_QUERY + 2, deadline);
    const zkl_op ops[] = {
        {.size = sizeof(zkl_op), .kind = ZKL_OP_GET, .path = "/n"},
        {.size = sizeof(zkl_op), .kind = ZKL_OP_CHILDREN, .path = "/n"},
        {.size = sizeof(zkl_op), .kind = ZKL_OP_CREATE, .path = "/n", .data = "", .version = -1},
        {.size = sizeof(zkl_op),
         .kind = ZKL_OP_SET,
         .path = "/n",
         .data = "x",
         .length = 1,
         .version = -1},
        {.size = sizeof(zkl_op), .kind = ZKL_OP_DELETE, .path = "/n", .version = -1}};
    h->requests[0] = zkl_node_do(h->client, &ops[0], TAG_NODE_REQUEST, deadline, false);
    h->requests[1] = zkl_node_do(h->client, &ops[1], TAG_NODE_REQUEST + 1, deadline, false);
    h->requests[2] =
        zkl_node_do_all(h->client, ops + 2, 3, NULL, TAG_NODE_REQUEST + 2, deadline, false);
    h->requests[3] = zkl_node_sync(h->client, TAG_NODE_REQUEST + 3, deadline, false);
    zkl_look_at(h->client, "/n", false, TAG_VIEW, &h->views[0]);
    zkl_look_at(h->client, "/n", true, TAG_VIEW + 1, &h->views[1]);
}

static void check_answered(const host *h) {
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(answers[TAG_CONTENDER + i], 1);
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(answers[TAG_QUERY + i], h->queries[i] != NULL);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(answers[TAG_NODE_REQUEST + i], h->requests[i] != NULL);
}

static void let_go(host *h) {
    for (size_t i = 0; i < 3; i++)
        zkl_drop(h->contenders[i]);
    for (size_t i = 0; i < 3; i++)
        zkl_query_drop(h->queries[i]);
    for (size_t i = 0; i < 4; i++)
        zkl_node_request_drop(h->requests[i]);
    for (size_t i = 0; i < 2; i++)
        zkl_node_watch_drop(h->views[i]);
    zkl_free(h->client);
}

/* Whoever comes again hears that his session is over: so nothing is left to give back, for which a
 * client that closes would wait. */
static void say_over(void) {
    asked request;
    frame f = {.length = 0};
    if (!next_request(&request, 1))
        return;
    put_greeting(&f, 0, 0);
    if (request.op == 0)
        send_frame(&f, (int32_t)f.length);
}

static void end(host *h) {
    const zkl_nanos patience = zkl_now() + PATIENCE;
    hang_up();
    zkl_close(h->client);
    while (!zkl_ended(h->client)) {
        take_events(h);
        say_over();
        CHECK(zkl_now() < patience);
    }
    take_events(h);
    hang_up();
    close(listener);
}

static void listen_anew(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 16) == 0 &&
          getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    snprintf(hosts, sizeof hosts, "127.0.0.1:%d", ntohs(address.sin_port));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = {bytes, size};
    asked request;
    host h = {.client = NULL};
    listen_anew();
    memset(answers, 0, sizeof answers);
    unread_length = 0;
    const zkl_config config = {.size = sizeof config,
                               .hosts = hosts,
                               .session_timeout = 1,
                               .acl = ZKL_ACL_OPEN,
                               .identifier = "me"};
    CHECK_INT(zkl_open(&config, &h.client), ZKL_OK);
    ask(&h);
    if (input_any(&in, 8) &&
        next_request(&request, 1000)) { /* mostly it is let in as it should be */
        frame f = {.length = 0};
        put_greeting(&f, SESSION, 5);
        send_frame(&f, (int32_t)f.length);
    }
    for (unsigned i = 0; i < STEPS_MOST && in.left > 0; i++) {
        server_step(&in);
        take_events(&h);
    }
    end(&h);
    check_answered(&h);
    let_go(&h);
    return 0;
}
