/* SPDX-License-Identifier: MIT */
/* tls: OpenSSL's opinion of the files that libzookeeper is to use. Building this needs no OpenSSL:
 * its functions are those that a libzookeeper with TLS brings. */
#ifndef ZKL_TLS_H
#define ZKL_TLS_H

#include "zookeeper/log.h"

#include <stdbool.h>
#include <stddef.h>

/* Loads the files just as libzookeeper does for every connection. NULL: it can. Otherwise "ca",
 * "cert" or "key", and `why` says what is wrong with that file, never with the password in it.
 * Reads files, so it may block. */
const char *zkl_tls_check(const char *ca, const char *cert, const char *key, const char *password,
                          char *why, size_t size);

/* True if libzookeeper compares the names of servers. The names are then a fifth part of the files,
 * and only `ca` is trusted. */
bool zkl_tls_names(void);

/* Warns in the log if `files` (as in zkl_config) are unsafe. Reads files, so it may block. */
void zkl_tls_advise(const char *files, zkl_log *log);

/* Why OpenSSL failed in this thread; can be read once. NULL: it did not fail, or gives no
 * reason. */
const char *zkl_tls_reason(void);

#endif
