/* SPDX-License-Identifier: MIT */
#include "zookeeper/config.h"

#include "zookeeper/tls.h"

#include <stdlib.h>
#include <string.h>

static char *copy(const char *text, bool *good) {
    char *c = strdup(text);
    *good = *good && c;
    return c;
}

/* The files and, behind them, the servers' names, if libzookeeper checks those. NULL: no memory. */
static char *with_names(const char *files, const zkl_servers *servers) {
    size_t size = strlen(files) + 1;
    for (size_t i = 0; i < servers->count; i++)
        size += strlen(servers->list[i].host) + 1;
    char *all = malloc(size);
    if (!all)
        return NULL;
    char *end = stpcpy(all, files);
    for (size_t i = 0; zkl_tls_names() && i < servers->count; i++) {
        *end++ = i == 0 ? ',' : ' ';
        end = stpcpy(end, servers->list[i].host);
    }
    return all;
}

bool zkl_config_copy(zkl_config *to, const zkl_config *from, const zkl_servers *servers) {
    bool good = true;
    *to = *from;
    to->hosts = NULL; /* already parsed */
    to->identifier = copy(from->identifier ? from->identifier : "", &good);
    to->tls = from->tls ? with_names(from->tls, servers) : NULL;
    good = good && (!from->tls || to->tls);
    zkl_auth *auths = calloc(from->auth_count ? from->auth_count : 1, sizeof *auths);
    to->auths = auths;
    to->auth_count = auths ? from->auth_count : 0;
    for (size_t i = 0; i < to->auth_count; i++) {
        auths[i].scheme = copy(from->auths[i].scheme, &good);
        auths[i].credential = copy(from->auths[i].credential, &good);
    }
    return good && auths;
}

static void wipe(const char *secret) {
    if (secret)
        explicit_bzero((char *)secret, strlen(secret));
    free((char *)secret);
}

void zkl_config_forget(zkl_config *config) {
    for (size_t i = 0; i < config->auth_count; i++) {
        free((char *)config->auths[i].scheme);
        wipe(config->auths[i].credential);
    }
    free((zkl_auth *)config->auths);
    wipe(config->tls);
    config->auths = NULL;
    config->auth_count = 0;
    config->tls = NULL;
}

void zkl_config_free(zkl_config *config) {
    zkl_config_forget(config);
    free((char *)config->identifier);
}
