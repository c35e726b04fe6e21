/* tls: what OpenSSL says of the files that libzookeeper is to use. Nothing here needs OpenSSL to be
 * built: its functions are those that came with a libzookeeper that has TLS. */
#ifndef ZKL_TLS_H
#define ZKL_TLS_H

#include "zookeeper/log.h"

#include <stdbool.h>
#include <stddef.h>

/* Loads the files just as libzookeeper does for every connection. NULL: it can. Otherwise "ca",
 * "cert" or "key", and `why` says what is wrong with that file; the password is never in it. Reads
 * files: it may block. */
const char *zkl_tls_check(const char *ca, const char *cert, const char *key, const char *password,
                          char *why, size_t size);

/* Does libzookeeper compare the names of servers, which are a fifth part of the files then, and
 * trust nobody but `ca`? */
bool zkl_tls_names(void);

/* Says in the log what is not safe about `files`, which are as in zkl_config. Looks at files: it
 * may block. */
void zkl_tls_advise(const char *files, zkl_log *log);

/* Why OpenSSL failed in this thread, once; NULL: it did not, or gives no reason. */
const char *zkl_tls_reason(void);

#endif
