/* SPDX-License-Identifier: MIT */
/* The names of a session_world, in the place of the system's. */
#include "session_world.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct answer {
    struct addrinfo info;
    struct sockaddr_in address;
} answer;

static struct addrinfo *answer_with(const char *host, const char *service, struct addrinfo *next) {
    answer *made = calloc(1, sizeof *made);
    CHECK(made != NULL);
    made->address.sin_family = AF_INET;
    made->address.sin_port = htons((uint16_t)atoi(service));
    CHECK_INT(inet_pton(AF_INET, host, &made->address.sin_addr), 1);
    made->info = (struct addrinfo){.ai_family = AF_INET,
                                   .ai_addr = (struct sockaddr *)&made->address,
                                   .ai_addrlen = sizeof made->address,
                                   .ai_next = next};
    return &made->info;
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    char addresses[128], *rest = NULL;
    CHECK(!world.is_locked && hints != NULL); /* it takes seconds */
    world.lookups++;
    snprintf(addresses, sizeof addresses, "%s", strcmp(host, "zk") == 0 ? world.addresses : host);
    *found = NULL;
    for (char *p = strtok_r(addresses, " ", &rest); p; p = strtok_r(NULL, " ", &rest))
        *found = answer_with(p, service, *found);
    return *found ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *found) {
    while (found) {
        struct addrinfo *next = found->ai_next;
        free(found);
        found = next;
    }
}
