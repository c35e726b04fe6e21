/* SPDX-License-Identifier: MIT */
#include "zookeeper/trouble.h"

#include "base/process.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 32
#define ADDRESS_MOST 64

typedef struct trouble {
    char address[ADDRESS_MOST], why[ZKL_TROUBLE_TEXT - ADDRESS_MOST];
    zkl_nanos when;
} trouble;

static struct table {
    pthread_mutex_t mutex;
    trouble troubles[KEPT];
    size_t next;
} * table;

__attribute__((constructor)) static void prepare(void) {
    table = zkl_process_memory(sizeof *table);
}

/* Copies the text between the two, or to the end of the line. */
static bool between(const char *line, const char *before, const char *after, char *to,
                    size_t size) {
    const char *from = strstr(line, before);
    if (!from)
        return false;
    from += strlen(before);
    const char *end = strstr(from, after);
    if (!end)
        return false;
    const size_t length = (size_t)(end - from);
    if (!length || length >= size)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

/* "Socket [127.0.0.1:2181] zk retcode=-4, errno=111(Connection refused): server refused to accept
 * the client" */
void zkl_trouble_note(const char *line, const char *reason) {
    char address[ADDRESS_MOST], number[16], why[ZKL_TROUBLE_TEXT - ADDRESS_MOST];
    if (!between(line, "Socket ", " zk retcode=", address, sizeof address) ||
        !between(line, "errno=", "(", number, sizeof number))
        return;
    const long error = strtol(number, NULL, 10);
    if (error == ESTALE) /* a server was reached, and says that the session has expired */
        return;
    if (reason)
        snprintf(why, sizeof why, "%s", reason);
    else if (error == 0 || !between(strstr(line, "errno="), "(", ")", why, sizeof why))
        snprintf(why, sizeof why, "no answer");
    if (!reason && strstr(line, "failed while receiving") && error == EHOSTDOWN)
        /* the number is libzookeeper's own */
        snprintf(why, sizeof why, "the server closed the connection");
    why[0] = (char)tolower((unsigned char)why[0]);
    const size_t length = strlen(address);
    const bool brackets = length > 2 && address[0] == '[' && address[length - 1] == ']';
    if (brackets)
        address[length - 1] = '\0';
    pthread_mutex_lock(&table->mutex);
    trouble *latest = &table->troubles[table->next];
    snprintf(latest->address, ADDRESS_MOST, "%s", address + brackets);
    snprintf(latest->why, sizeof latest->why, "%s", why);
    latest->when = zkl_clock_boot.now();
    table->next = (table->next + 1) % KEPT;
    pthread_mutex_unlock(&table->mutex);
}

static bool is_among(const char *addresses, const char *address) {
    const size_t length = strlen(address);
    for (const char *p = addresses; (p = strstr(p, address)) != NULL; p += length)
        if ((p == addresses || p[-1] == ',') && (!p[length] || p[length] == ','))
            return true;
    return false;
}

bool zkl_trouble_of(const char *addresses, zkl_nanos since, char *text, size_t size) {
    bool found = false;
    zkl_nanos newest = since;
    pthread_mutex_lock(&table->mutex);
    for (size_t i = 0; addresses && i < KEPT; i++) {
        const trouble *one = &table->troubles[i];
        if (!one->when || one->when < newest || !is_among(addresses, one->address))
            continue;
        found = true;
        newest = one->when;
        snprintf(text, size, "%s: %s", one->why, one->address);
    }
    pthread_mutex_unlock(&table->mutex);
    return found;
}
