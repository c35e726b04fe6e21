/* SPDX-License-Identifier: MIT */
/* held_question: the command's side of held_socket.h. */
#include "cli/held/held_message.h"
#include "cli/held/held_socket.h"

#include "cli/memory.h"
#include "zklock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MOST (1 << 24) /* bytes */
#define RETRY_MILLISECONDS 10
#define PORT ":2181"

/* ---- asking ---- */

static int milliseconds_until(zkl_nanos deadline) {
    const zkl_nanos left = deadline - zkl_now();
    return left > 0 ? (int)(left / 1000000) + 1 : 0;
}

/* The backlog of a run that is stopped may be full: then connect(2) fails at once. */
static bool reach(int fd, const struct sockaddr_un *address, zkl_nanos deadline) {
    while (connect(fd, (const struct sockaddr *)address, sizeof *address) != 0) {
        if ((errno != EAGAIN && errno != EINTR) || milliseconds_until(deadline) == 0)
            return false;
        poll(NULL, 0, RETRY_MILLISECONDS);
    }
    return true;
}

/* Reads `size` bytes. false: the run has hung up, or the time is over. */
static bool receive(int fd, void *to, size_t size, zkl_nanos deadline) {
    for (size_t used = 0; used < size;) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        const int wait = milliseconds_until(deadline);
        if (wait == 0 || (poll(&polled, 1, wait) < 0 && errno != EINTR))
            return false;
        const ssize_t more = recv(fd, (char *)to + used, size - used, 0);
        if (more == 0 || (more < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        used += more > 0 ? (size_t)more : 0;
    }
    return true;
}

static bool receive_texts(int fd, struct held_answer *answer, zkl_nanos deadline) {
    size_t used = 0, room = 0, ends = 0;
    while (ends < answer->count && used < TEXT_MOST) {
        if (used == room) {
            room = room ? 2 * room : 256;
            answer->text = cli_memory_again(answer->text, room, 1);
        }
        if (!receive(fd, answer->text + used, 1, deadline))
            return false;
        ends += answer->text[used++] == '\0';
    }
    return ends == answer->count;
}

static bool converse(int fd, const char *directory, struct held_answer *answer) {
    const zkl_nanos asked = zkl_now(), deadline = asked + HELD_PATIENCE * ZKL_SECOND;
    struct sockaddr_un address;
    struct held_message message;
    if (!cli_held_address(directory, &address) || !reach(fd, &address, deadline) ||
        !receive(fd, &message, sizeof message, deadline) || message.version != HELD_MESSAGE_VERSION)
        return false;
    answer->semaphore = message.semaphore != 0;
    answer->count = message.count;
    if (!receive_texts(fd, answer, deadline))
        return false;
    const zkl_nanos left = message.left - (zkl_now() - asked);
    answer->left = left > 0 ? (double)left / ZKL_SECOND : 0;
    return true;
}

bool cli_held_ask(const char *directory, struct held_answer *answer) {
    *answer = (struct held_answer){0};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    const bool heard = converse(fd, directory, answer);
    close(fd);
    if (!heard)
        cli_held_free(answer);
    return heard;
}

void cli_held_free(struct held_answer *answer) {
    free(answer->text);
    answer->text = NULL;
}

/* ---- the runs above ---- */

/* The next directory of the list, which moves on. false: there are no more, or it does not fit. */
static bool next_directory(const char **list, char directory[HELD_DIRECTORY_SIZE]) {
    const size_t length = strcspn(*list, ":");
    if (length == 0 || length >= HELD_DIRECTORY_SIZE)
        return false;
    memcpy(directory, *list, length);
    directory[length] = '\0';
    *list += length + ((*list)[length] == ':');
    return true;
}

bool cli_held_nearest(const char *zklock_run, char directory[HELD_DIRECTORY_SIZE]) {
    return zklock_run && next_directory(&zklock_run, directory);
}

static const char *chroot_of(const char *hosts) {
    return hosts + strcspn(hosts, "/");
}

/* An address within a connect string, as bytes with the port. */
static char *next_address(const char **hosts) {
    *hosts += strspn(*hosts, ", ");
    const size_t length = strcspn(*hosts, ",/ ");
    if (length == 0)
        return NULL;
    char *address = cli_memory(length + sizeof PORT);
    memcpy(address, *hosts, length);
    address[length] = '\0';
    const char *colon = strrchr(address, ':'), *bracket = strrchr(address, ']');
    if (!colon || colon < bracket)
        strcat(address, PORT);
    *hosts += length;
    return address;
}

static bool has_address(const char *hosts, const char *wanted) {
    bool found = false;
    for (char *address; !found && (address = next_address(&hosts)); free(address))
        found = strcasecmp(address, wanted) == 0;
    return found;
}

static bool share_a_server(const char *a, const char *b) {
    bool found = false;
    for (char *address; !found && (address = next_address(&a)); free(address))
        found = has_address(b, address);
    return found;
}

static bool is_same_node(const char *hosts_a, const char *a, const char *hosts_b, const char *b) {
    char *full_a = cli_memory_print("%s%s", chroot_of(hosts_a), a);
    char *full_b = cli_memory_print("%s%s", chroot_of(hosts_b), b);
    const bool same = strcmp(full_a, full_b) == 0;
    free(full_a);
    free(full_b);
    return same;
}

/* The first of the paths that the run holds; NULL: none. */
static const char *held_path(const struct held_answer *run, const char *hosts,
                             const char *const *paths, size_t count) {
    if (run->left <= 0 || run->semaphore || !share_a_server(run->text, hosts))
        return NULL;
    const char *path = run->text + strlen(run->text) + 1;
    for (size_t n = 1; n < run->count; n++, path += strlen(path) + 1)
        for (size_t i = 0; i < count; i++)
            if (is_same_node(run->text, path, hosts, paths[i]))
                return paths[i];
    return NULL;
}

const char *cli_held_above(const char *zklock_run, const char *hosts, const char *const *paths,
                           size_t count) {
    char directory[HELD_DIRECTORY_SIZE];
    struct held_answer run;
    const char *found = NULL;
    while (!found && zklock_run && next_directory(&zklock_run, directory)) {
        if (!cli_held_ask(directory, &run))
            continue;
        if (run.count > 0)
            found = held_path(&run, hosts, paths, count);
        cli_held_free(&run);
    }
    return found;
}
