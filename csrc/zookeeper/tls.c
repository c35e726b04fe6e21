/* SPDX-License-Identifier: MIT */
#include "zookeeper/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* OpenSSL's functions, since 1.1. Weak: a libzookeeper without TLS brings none of them, and one
 * with a static OpenSSL does not export them. */
#define WEAK __attribute__((weak))
typedef struct ssl_ctx_st SSL_CTX;
extern int OPENSSL_init_ssl(uint64_t options, const void *settings) WEAK;
extern const struct ssl_method_st *TLS_client_method(void) WEAK;
extern SSL_CTX *SSL_CTX_new(const struct ssl_method_st *method) WEAK;
extern void SSL_CTX_free(SSL_CTX *ctx) WEAK;
extern int SSL_CTX_load_verify_locations(SSL_CTX *ctx, const char *file, const char *dir) WEAK;
extern int SSL_CTX_use_certificate_chain_file(SSL_CTX *ctx, const char *file) WEAK;
extern void SSL_CTX_set_default_passwd_cb_userdata(SSL_CTX *ctx, void *password) WEAK;
extern int SSL_CTX_use_PrivateKey_file(SSL_CTX *ctx, const char *file, int type) WEAK;
extern int SSL_CTX_check_private_key(const SSL_CTX *ctx) WEAK;
extern unsigned long ERR_peek_error(void) WEAK;
extern const char *ERR_reason_error_string(unsigned long error) WEAK;
extern void ERR_clear_error(void) WEAK;

#define PEM 1                       /* SSL_FILETYPE_PEM */
#define NO_ATEXIT UINT64_C(0x80000) /* OPENSSL_INIT_NO_ATEXIT */

static bool have_openssl(void) {
    return OPENSSL_init_ssl && TLS_client_method && SSL_CTX_new && SSL_CTX_free &&
           SSL_CTX_load_verify_locations && SSL_CTX_use_certificate_chain_file &&
           SSL_CTX_set_default_passwd_cb_userdata && SSL_CTX_use_PrivateKey_file &&
           SSL_CTX_check_private_key;
}

const char *zkl_tls_reason(void) {
    if (!ERR_peek_error || !ERR_reason_error_string || !ERR_clear_error)
        return NULL;
    const unsigned long error =
        ERR_peek_error(); /* the first error: later ones only say where it was noticed */
    const char *reason = error ? ERR_reason_error_string(error) : NULL;
    ERR_clear_error();
    return reason;
}

static bool readable(const char *path, char *why, size_t size) {
    char byte;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 && read(fd, &byte, 1) >= 0;
    if (!good)
        snprintf(why, size, "cannot read %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

/* Added by tools/tls.patch. */
extern int zookeeper_ssl_names WEAK;

bool zkl_tls_names(void) {
    return &zookeeper_ssl_names != NULL;
}

void zkl_tls_advise(const char *files, zkl_log *log) {
    if (!zkl_tls_names())
        zkl_log_warn(log, NULL, "%s",
                     "this libzookeeper takes any certificate of any authority of the "
                     "system for a server's, whatever the name in it: see docs/tls.md");
    const char *cert = strchr(files, ','), *key = cert ? strchr(cert + 1, ',') : NULL;
    char *path = key ? strndup(key + 1, strcspn(key + 1, ",")) : NULL;
    struct stat file;
    if (path && stat(path, &file) == 0 && (file.st_mode & (S_IROTH | S_IWOTH)))
        zkl_log_warn(log, NULL,
                     "every user of this machine may %s the private key of options.tls.key: %s",
                     file.st_mode & S_IROTH ? "read" : "write", path);
    free(path);
}

static const char *refuse(const char *which, const char *what, const char *path, char *why,
                          size_t size) {
    const char *reason = zkl_tls_reason();
    snprintf(why, size, "%s %s: %s", what, path, reason ? reason : "OpenSSL does not accept it");
    return which;
}

static const char *load(SSL_CTX *ctx, const char *ca, const char *cert, const char *key,
                        const char *password, char *why, size_t size) {
    if (SSL_CTX_load_verify_locations(ctx, ca, NULL) != 1)
        return refuse("ca", "no certificates in PEM form in", ca, why, size);
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return refuse("cert", "no certificate in PEM form in", cert, why, size);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, (void *)password);
    if (SSL_CTX_use_PrivateKey_file(ctx, key, PEM) != 1)
        return refuse("key",
                      "no PEM key for options.tls.cert that opens with options.tls.password in",
                      key, why, size);
    if (SSL_CTX_check_private_key(ctx) != 1)
        return refuse("key", "no key for options.tls.cert in", key, why, size);
    return NULL;
}

const char *zkl_tls_check(const char *ca, const char *cert, const char *key, const char *password,
                          char *why, size_t size) {
    if (!readable(ca, why, size))
        return "ca";
    if (!readable(cert, why, size))
        return "cert";
    if (!readable(key, why, size))
        return "key";
    if (!have_openssl())
        return NULL; /* then the library's log has to report it */
    /* OpenSSL must not clean up at the process's end, while libzookeeper's threads run. */
    OPENSSL_init_ssl(NO_ATEXIT, NULL);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    if (!ctx)
        return NULL;
    zkl_tls_reason(); /* drops an earlier error of other code */
    const char *which = load(ctx, ca, cert, key, password, why, size);
    SSL_CTX_free(ctx);
    return which;
}
