/* SPDX-License-Identifier: MIT */
/* A lock in a program that waits: takes the lock at PATH, prints its token, and gives it back.
 *
 *   make install-lib && ldconfig    (as root)
 *   cc -o lock examples/c/blocking.c $(pkg-config --cflags --libs zklock)
 *   ./lock 127.0.0.1:2181 /locks/report
 */
#include <zklock.h>

#include <inttypes.h>
#include <stdio.h>

enum { LOCK = 1 }; /* the tag of the lock's events */

int main(int argc, char **argv) {
    if (argc != 3)
        return fprintf(stderr, "usage: lock SERVERS PATH\n"), 64;

    zkl_config config = ZKL_CONFIG_DEFAULTS;
    config.hosts = argv[1];
    zkl_terms terms = ZKL_TERMS_DEFAULTS;
    terms.deadline = zkl_clock_after(zkl_now(), 30);

    zkl_client *client = NULL;
    zkl_contender *lock = NULL;
    zkl_event event;
    zkl_status status = zkl_open(&config, &client);
    if (status == ZKL_OK)
        status = zkl_join(client, argv[2], LOCK, &terms, &lock);
    if (status == ZKL_OK)
        status = zkl_wait(client, LOCK, ZKL_NEVER, &event);
    if (status == ZKL_OK)
        status = event.status; /* FAILED: ZKL_TIMEOUT, ZKL_DISCONNECTED, ... */
    if (status == ZKL_OK) {
        printf("token %" PRId64 ", valid for %.1f s\n", event.token, zkl_validity(lock));
        status = zkl_release(lock); /* ZKL_OK, ZKL_UNKNOWN or ZKL_LOST */
    }
    puts(zkl_status_text(status));
    zkl_drop(lock);
    zkl_free(client); /* the session ends at exit, which waits a second at most */
    return status == ZKL_OK ? 0 : 1;
}
