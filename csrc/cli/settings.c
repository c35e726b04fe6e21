/* SPDX-License-Identifier: MIT */
#include "cli/connection.h"

#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line of the file, while it is read. */
typedef struct setting {
    const char *place; /* "FILE:3" */
    const char *key;
    char *value;
    char **slot; /* for a file or a password */
} setting;

static const char space[] = " \t\r\n";

/* ---- one line ---- */

static void keep(char **slot, const char *value) {
    cli_memory_wipe(*slot);
    *slot = cli_memory_text(value);
}

static int set_hosts(cli_settings *settings, const setting *line) {
    keep(&settings->hosts, line->value);
    keep(&settings->origin, line->place);
    return 0;
}

static int set_auth(cli_settings *settings, const setting *line) {
    char *credential = line->value + strcspn(line->value, space);
    if (!*credential)
        return cli_misuse(line->place, "auth: SCHEME CREDENTIAL expected, got one word");
    *credential++ = '\0';
    credential += strspn(credential, space);
    settings->auths =
        cli_memory_again(settings->auths, settings->auth_count + 1, sizeof *settings->auths);
    settings->auths[settings->auth_count++] =
        (zkl_auth){cli_memory_text(line->value), cli_memory_text(credential)};
    return 0;
}

static int set_tls(cli_settings *settings, const setting *line) {
    (void)settings; /* the slot is there */
    if (strchr(line->value, ','))
        return cli_misuse(line->place, "%s: text without commas expected, got one with a comma",
                          line->key);
    keep(line->slot, line->value);
    return 0;
}

static int set_acl(cli_settings *settings, const setting *line) {
    static const char *const names[] = {
        [ZKL_ACL_OPEN] = "open", [ZKL_ACL_CREATOR] = "creator", [ZKL_ACL_READ] = "read"};
    settings->has_acl = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        settings->acl = (zkl_acl)i;
        if (strcmp(names[i], line->value) == 0)
            return 0;
    }
    return cli_misuse(line->place, "acl: 'open', 'creator' or 'read' expected, got '%s'",
                      CLI_SHOWN(line->value));
}

static int set_session(cli_settings *settings, const setting *line) {
    if (cli_number_seconds(line->value, &settings->session) && settings->session > 0 &&
        settings->session <= CLI_SESSION_MOST)
        return 0;
    return cli_misuse(line->place, "session: seconds > 0 and <= %d expected, got '%s'",
                      CLI_SESSION_MOST, CLI_SHOWN(line->value));
}

static int set_node_bytes(cli_settings *settings, const setting *line) {
    int64_t bytes;
    if (cli_number_whole(line->value, CLI_NODE_BYTES_LEAST, CLI_NODE_BYTES_MOST, &bytes)) {
        settings->node_bytes = (size_t)bytes;
        return 0;
    }
    return cli_misuse(line->place, "node-bytes: integer from %d to %d expected, got '%s'",
                      CLI_NODE_BYTES_LEAST, CLI_NODE_BYTES_MOST, CLI_SHOWN(line->value));
}

#define SLOT(name) offsetof(cli_settings, name)
static const struct {
    const char *key;
    int (*set)(cli_settings *settings, const setting *line);
    size_t slot;
} keys[] = {
    {"hosts", set_hosts, 0},
    {"auth", set_auth, 0},
    {"tls-ca", set_tls, SLOT(tls_ca)},
    {"tls-cert", set_tls, SLOT(tls_cert)},
    {"tls-key", set_tls, SLOT(tls_key)},
    {"tls-password", set_tls, SLOT(tls_password)},
    {"acl", set_acl, 0},
    {"session", set_session, 0},
    {"node-bytes", set_node_bytes, 0},
};

/* The word that should be a key is not repeated: it may be a credential on a line of its own. */
static int take(cli_settings *settings, setting *line) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(keys[i].key, line->key) != 0)
            continue;
        if (!*line->value)
            return cli_misuse(line->place, "%s: a value expected, got none", line->key);
        line->slot = (char **)((char *)settings + keys[i].slot);
        return keys[i].set(settings, line);
    }
    return cli_misuse(line->place, "unknown key; expected: hosts, auth, tls-ca, tls-cert, tls-key, "
                                   "tls-password, acl, session, node-bytes");
}

/* ---- the file ---- */

static int take_line(cli_settings *settings, const char *place, char *text) {
    text += strspn(text, space);
    for (size_t length = strlen(text); length > 0 && strchr(space, text[length - 1]); length--)
        text[length - 1] = '\0';
    if (!*text || *text == '#')
        return 0;
    setting line = {.place = place, .key = text, .value = text + strcspn(text, space)};
    if (*line.value)
        *line.value++ = '\0';
    line.value += strspn(line.value, space);
    return take(settings, &line);
}

/* A NUL stands behind the text. */
static int take_lines(cli_settings *settings, const char *path, char *text, size_t length) {
    const char *end = text + length;
    int code = 0;
    for (int number = 1; code == 0 && text < end; number++) {
        char *place = cli_memory_print("%s:%d", path, number), *next = text + strcspn(text, "\n");
        if (*next || next == end) {
            *next = '\0';
            code = take_line(settings, place, text);
        } else {
            code = cli_misuse(place, "text without NUL expected");
        }
        text = next + 1;
        free(place);
    }
    return code;
}

/* Much more than a configuration has: a device may never end. */
#define FILE_MOST (1 << 20)

static int take_file(cli_settings *settings, const char *path, int fd) {
    char *text = cli_memory_again(NULL, FILE_MOST + 1, 1);
    const ssize_t length = cli_read(fd, text, FILE_MOST);
    int code;
    if (length < 0) {
        code = cli_misuse(path, "cannot read the configuration: %s", strerror(errno));
    } else if (length == FILE_MOST) {
        code = cli_misuse(path, "a configuration of less than %d bytes expected", FILE_MOST);
    } else {
        text[length] = '\0';
        code = take_lines(settings, path, text, (size_t)length);
        explicit_bzero(text, (size_t)length);
    }
    free(text);
    return code;
}

static void warn_if_others_read(cli_settings *settings, int fd) {
    struct stat stat;
    const bool secret = settings->auth_count > 0 || settings->tls_password;
    settings->exposed = secret && fstat(fd, &stat) == 0 && (stat.st_mode & (S_IROTH | S_IWOTH));
    if (settings->exposed)
        cli_warn("%s has credentials, and others can read it: chmod o-rw %s", settings->file,
                 settings->file);
}

static int read_file(cli_settings *settings, const char *path, bool asked) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == ENOENT && !asked)
        return 0;
    if (fd < 0)
        return cli_misuse(path, "cannot read the configuration: %s", strerror(errno));
    settings->file = cli_memory_text(path);
    const int code = take_file(settings, path, fd);
    warn_if_others_read(settings, fd);
    close(fd);
    return code;
}

/* ---- all of it ---- */

static const char *of_environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int read_config(cli_settings *settings, const char *option) {
    if (option && !*option)
        return cli_misuse("--config", "a file's name expected, got ''");
    const char *path = option ? option : of_environment("ZKLOCK_CONFIG");
    return path ? read_file(settings, path, true) : read_file(settings, CLI_CONFIG_FILE, false);
}

static void choose_hosts(cli_settings *settings, const char *option) {
    static const char *const variables[] = {"$ZKLOCK_SERVERS", "$ZOOKEEPER"};
    const char *value = option, *origin = "-z";
    for (size_t i = 0; !value && i < sizeof variables / sizeof *variables; i++) {
        origin = variables[i];
        value = of_environment(origin + 1);
    }
    if (!value && settings->hosts)
        return;
    keep(&settings->hosts, value ? value : CLI_HOSTS);
    keep(&settings->origin, value ? origin : "the default");
}

static int check_hosts(const cli_settings *settings) {
    char why[256];
    if (zkl_hosts_valid(settings->hosts, why, sizeof why))
        return 0;
    return cli_misuse(settings->origin, "%s", why);
}

static bool has_tls(const cli_settings *settings) {
    return settings->tls_ca || settings->tls_cert || settings->tls_key || settings->tls_password;
}

static int check_tls(const cli_settings *settings) {
    char why[256];
    if (!has_tls(settings))
        return 0;
    if (!settings->tls_ca || !settings->tls_cert || !settings->tls_key)
        return cli_misuse(settings->file, "tls-ca, tls-cert and tls-key expected together");
    if (!zkl_has_tls())
        return cli_misuse(settings->file, "the linked libzookeeper was built without TLS");
    const char *wrong =
        zkl_tls_problem(settings->tls_ca, settings->tls_cert, settings->tls_key,
                        settings->tls_password ? settings->tls_password : "none", why, sizeof why);
    return wrong ? cli_misuse(settings->file, "tls-%s: %s", wrong, why) : 0;
}

/* A certificate is an identity as good as a password. */
static int check_acl(cli_settings *settings) {
    const bool known = settings->auth_count > 0 || has_tls(settings);
    if (!settings->has_acl)
        settings->acl = known ? ZKL_ACL_CREATOR : ZKL_ACL_OPEN;
    if (settings->acl == ZKL_ACL_OPEN || known)
        return 0;
    return cli_misuse(settings->file, "acl: 'creator' and 'read' need auth or tls-cert");
}

int cli_settings_read(cli_settings *settings, const char *hosts, const char *config) {
    *settings = (cli_settings){.acl = ZKL_ACL_OPEN};
    int code = read_config(settings, config);
    if (code == 0) {
        choose_hosts(settings, hosts);
        code = check_hosts(settings);
    }
    if (code == 0)
        code = check_tls(settings);
    return code == 0 ? check_acl(settings) : code;
}

void cli_settings_free(cli_settings *settings) {
    for (size_t i = 0; i < settings->auth_count; i++) {
        free((char *)settings->auths[i].scheme);
        cli_memory_wipe((char *)settings->auths[i].credential);
    }
    free(settings->auths);
    cli_memory_wipe(settings->tls_password);
    free(settings->tls_key);
    free(settings->tls_cert);
    free(settings->tls_ca);
    free(settings->file);
    free(settings->origin);
    free(settings->hosts);
    *settings = (cli_settings){.acl = ZKL_ACL_OPEN};
}
