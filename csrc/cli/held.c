/* SPDX-License-Identifier: MIT */
/* held: `zklock held`: is the lock of the run above this process still held? It asks the run, which
 * knows for how long. Where none that can be trusted answers, it asks the servers for the lock's
 * nodes. */
#include "cli/connection.h"
#include "cli/held.h"

#include "cli/options.h"
#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A run answers this. The two may be of different versions of zklock: whoever changes a byte of it
 * changes HELD_MESSAGE_VERSION. */
#define HELD_MESSAGE_VERSION 1

struct held_message {
    uint32_t version;
    uint32_t zero[3]; /* so that all machines lay it out alike */
    int64_t left;     /* nanoseconds */
};
_Static_assert(sizeof(struct held_message) == 24, "a message without gaps");

/* The socket in the directory. false: the path is too long. */
static bool address_of(const char *directory, struct sockaddr_un *address) {
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address->sun_path, sizeof address->sun_path, "%s/held", directory);
    return length > 0 && (size_t)length < sizeof address->sun_path;
}

/* ---- the run ---- */

#define BACKLOG 64
#define NAME "zklock-XXXXXX"

static bool make_below(const char *above, char directory[HELD_DIRECTORY_SIZE]) {
    if (!above || above[0] != '/')
        return false;
    const int length = snprintf(directory, HELD_DIRECTORY_SIZE, "%s/" NAME, above);
    return length < HELD_DIRECTORY_SIZE && mkdtemp(directory);
}

bool cli_held_make(char directory[HELD_DIRECTORY_SIZE]) {
    const bool made = make_below(getenv("XDG_RUNTIME_DIR"), directory) ||
                      make_below(getenv("TMPDIR"), directory) || make_below("/tmp", directory);
    if (!made)
        directory[0] = '\0';
    return made;
}

void cli_held_remove(const char *directory) {
    struct sockaddr_un address;
    if (!directory[0])
        return;
    if (address_of(directory, &address))
        unlink(address.sun_path);
    rmdir(directory);
}

int cli_held_open(const char *directory) {
    struct sockaddr_un address;
    if (!directory[0] || !address_of(directory, &address))
        return -1;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
                   listen(fd, BACKLOG) == 0))
        return fd;
    close(fd);
    return -1;
}

/* The little that is sent fits into the socket of one that has just asked. */
void cli_held_serve(int fd, zkl_nanos until) {
    const zkl_nanos left = until ? until - zkl_now() : 0;
    const struct held_message message = {.version = HELD_MESSAGE_VERSION,
                                         .left = left > 0 ? left : 0};
    int asking;
    while ((asking = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        send(asking, &message, sizeof message, MSG_NOSIGNAL);
        close(asking);
    }
}

/* ---- the command asks the run ---- */

#define PATIENCE 1 /* seconds; also --connect */

/* After a run has ended, others may make a directory with its name. */
static bool is_trusted(const char *directory, uid_t *owner) {
    struct stat found;
    if (lstat(directory, &found) != 0 || !S_ISDIR(found.st_mode))
        return false;
    *owner = found.st_uid;
    return *owner == 0 || *owner == geteuid();
}

static bool is_of(int fd, uid_t owner) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == owner);
}

/* The next call waits until then, at most. false: the time is over. */
static bool limit(int fd, int direction, zkl_nanos deadline) {
    const zkl_nanos left = (deadline - zkl_now()) / 1000;
    const struct timeval most = {.tv_sec = left / 1000000, .tv_usec = left % 1000000};
    return left > 0 && setsockopt(fd, SOL_SOCKET, direction, &most, sizeof most) == 0;
}

/* A stopped process that goes on is interrupted. */
static bool reach(int fd, const struct sockaddr_un *address, zkl_nanos deadline) {
    while (limit(fd, SO_SNDTIMEO, deadline)) {
        if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
            return true;
        if (errno != EINTR)
            break;
    }
    return false;
}

static bool receive(int fd, struct held_message *message, zkl_nanos deadline) {
    ssize_t got = -1;
    while (limit(fd, SO_RCVTIMEO, deadline)) {
        got = recv(fd, message, sizeof *message, MSG_WAITALL);
        if (got >= 0 || errno != EINTR)
            break;
    }
    return got == (ssize_t)sizeof *message && message->version == HELD_MESSAGE_VERSION;
}

static bool converse(int fd, const char *directory, double *seconds) {
    const zkl_nanos asked = zkl_now(), deadline = asked + PATIENCE * ZKL_SECOND;
    struct sockaddr_un address;
    struct held_message message;
    uid_t owner;
    if (!is_trusted(directory, &owner) || !address_of(directory, &address) ||
        !reach(fd, &address, deadline) || !is_of(fd, owner) || !receive(fd, &message, deadline))
        return false;
    const zkl_nanos left = message.left - (zkl_now() - asked);
    *seconds = left > 0 ? zkl_clock_seconds(left) : 0;
    return true;
}

/* Asks the run with that directory, the value of ZKLOCK_RUN, for how many seconds the lock is
 * certainly held; 0: it is not. false: no run has answered that this process can trust: the
 * directory must belong to root or to this user, and the socket to root or to the directory's
 * owner. */
static bool ask_run(const char *directory, double *left) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool heard = fd >= 0 && converse(fd, directory, left);
    if (fd >= 0)
        close(fd);
    return heard;
}

/* ---- the servers ---- */

static const char help[] =
    "usage: zklock held\n"
    "\n"
    "Below `zklock run`: writes for how many seconds the lock is certainly held, and\n"
    "exits with 0. If the run does not answer within a second, looks for the nodes of\n"
    "$ZKLOCK_NODE at the servers: if all are there, exits with 0 and writes nothing.\n"
    "\n"
    "      --help          show this\n"
    "      --version       show the version\n"
    "\n"
    "exit codes: 0 held, 75 not held, 69 no server within a second, 77 the nodes cannot\n"
    "be read\n";

static const cli_syntax syntax = {.help = help, .arguments = "no argument", .local = true};

static int refuse(const char *reason) {
    cli_complain("%s", reason);
    return EX_TEMPFAIL;
}

/* A user who may not read the run's configuration cannot read its nodes either. */
static bool is_config_denied(void) {
    const char *config = getenv("ZKLOCK_CONFIG");
    const char *file = config && *config ? config : CLI_CONFIG_FILE;
    return faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) != 0 && errno == EACCES;
}

/* The servers answer as with a write, so none of them answers from what it has not heard yet. */
static int look_for(cli_connection *connection, const char *path, void *nodes) {
    (void)path; /* the first of the nodes */
    return cli_guard_do(connection, nodes, NULL);
}

static int ask_servers(const cli_options *options) {
    const char *list = getenv("ZKLOCK_NODE");
    cli_guard nodes = {.count = 0};
    if (!list)
        return refuse("not held: the zklock run above this process does not answer, and "
                      "ZKLOCK_NODE is not set");
    int code = cli_guard_add(&nodes, "$ZKLOCK_NODE", list);
    if (code == 0) {
        code = cli_connected(options, nodes.nodes[0], ZKL_PATH_READ, look_for, &nodes);
        if (code == EX_USAGE && is_config_denied())
            code = EX_NOPERM;
    }
    cli_guard_free(&nodes);
    return code;
}

int cli_held(int argc, char **argv) {
    cli_options options = cli_options_of(argc, argv, &syntax, PATIENCE);
    double left;
    if (!cli_options_read(&options, NULL))
        return options.code;
    const char *directory = getenv("ZKLOCK_RUN");
    if (!directory && !getenv("ZKLOCK_NODE"))
        return refuse("not held: no zklock run above this process (ZKLOCK_RUN is not set)");
    if (!directory || !ask_run(directory, &left))
        return ask_servers(&options);
    if (left <= 0)
        return refuse("lost");
    printf("%.3f\n", left);
    return EX_OK;
}
