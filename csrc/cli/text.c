/* SPDX-License-Identifier: MIT */
#include "cli/text.h"

#include "base/text.h"
#include "zklock.h"

#include <inttypes.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- memory, and others' texts ---- */

static void *given(void *memory) {
    if (memory)
        return memory;
    static const char why[] = "zklock: not enough memory\n";
    fwrite(why, 1, sizeof why - 1, stderr);
    exit(EX_SOFTWARE);
}

void *cli_memory(size_t size) {
    return given(malloc(size ? size : 1));
}

void *cli_memory_again(void *memory, size_t count, size_t size) {
    return given(reallocarray(memory, count ? count : 1, size));
}

char *cli_memory_text(const char *text) {
    return given(strdup(text));
}

char *cli_memory_print(const char *format, ...) {
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return given(length < 0 ? NULL : text);
}

void cli_memory_wipe(char *secret) {
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

static bool is_utf8(void) {
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static char *show(const char *bytes, size_t length, zkl_text_kept keep) {
    char *shown = cli_memory(4 * length + ZKL_TEXT_PIECE), *end = shown;
    for (size_t i = 0, taken; i < length; i += taken)
        end += zkl_text_piece(end, bytes + i, length - i, keep, &taken);
    *end = '\0';
    return shown;
}

char *cli_text_shown(const char *bytes, size_t length) {
    return show(bytes, length, (zkl_text_kept){.utf8 = is_utf8()});
}

char *cli_text_shown_lines(const char *bytes, size_t length) {
    return show(bytes, length, (zkl_text_kept){.utf8 = is_utf8(), .lines = true});
}

char *cli_text_spelled(const char *bytes, size_t length) {
    return show(bytes, length, (zkl_text_kept){.utf8 = true});
}

const char *cli_text_show(char to[CLI_TEXT_SHOWN], const char *text) {
    static const char more[] = "...";
    size_t used = 0, room = 0; /* room: where "..." still fits */
    char part[ZKL_TEXT_PIECE];
    const zkl_text_kept keep = {.utf8 = is_utf8()};
    for (size_t left = strlen(text), taken; left > 0; text += taken, left -= taken) {
        const size_t width = zkl_text_piece(part, text, left, keep, &taken);
        if (used + width + 1 > CLI_TEXT_SHOWN) {
            memcpy(to + room, more, sizeof more);
            return to;
        }
        memcpy(to + used, part, width);
        used += width;
        if (used + sizeof more <= CLI_TEXT_SHOWN)
            room = used;
    }
    to[used] = '\0';
    return to;
}

/* ---- standard error ---- */

static int patience = -1; /* milliseconds; -1: for ever */

void cli_complaint_patience(int milliseconds) {
    patience = milliseconds;
}

bool cli_complaint_is_taken(int milliseconds) {
    struct pollfd standard_error = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&standard_error, 1, milliseconds) != 0;
}

void cli_write(int fd, const char *text, size_t length) {
    sigset_t stop, before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTTOU);
    sigprocmask(SIG_BLOCK, &stop, &before);
    for (size_t done = 0; done < length;) {
        const ssize_t written = write(fd, text + done, length - done);
        if (written <= 0)
            break; /* nobody reads it now */
        done += (size_t)written;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* In one write: lines of several processes do not get mixed. */
static void say(const char *prefix, const char *format, va_list arguments) {
    char *message = NULL;
    if (vasprintf(&message, format, arguments) < 0)
        message = cli_memory_text("not enough memory");
    char *shown = cli_text_shown(message, strlen(message));
    char *line = cli_memory_print("zklock: %s%s\n", prefix, shown);
    fflush(stdout);
    if (cli_complaint_is_taken(patience))
        cli_write(STDERR_FILENO, line, strlen(line));
    free(line);
    free(shown);
    free(message);
}

void cli_complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
}

void cli_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("warning: ", format, arguments);
    va_end(arguments);
}

int cli_misuse(const char *argument, const char *format, ...) {
    va_list arguments;
    char *prefix = cli_memory_print("bad argument '%s': ", argument);
    char *shown = cli_text_shown(prefix, strlen(prefix));
    va_start(arguments, format);
    say(shown, format, arguments);
    va_end(arguments);
    free(shown);
    free(prefix);
    return EX_USAGE;
}

int cli_failure(zkl_status status, const char *about) {
    if (about)
        cli_complain("%s: %s", zkl_status_text(status), about);
    else
        cli_complain("%s", zkl_status_text(status));
    return cli_exit_code(status);
}

static const struct {
    zkl_status status;
    int code;
} codes[] = {
    {ZKL_OK, 0},
    {ZKL_WRONG_KIND, EX_DATAERR},
    {ZKL_DEADLOCK, EX_DATAERR},
    {ZKL_BAD_VERSION, EX_DATAERR},
    {ZKL_NOT_EMPTY, EX_DATAERR},
    {ZKL_TOO_BIG, EX_DATAERR},
    {ZKL_NO_NODE, EX_NOINPUT},
    {ZKL_TIMEOUT, EX_UNAVAILABLE},
    {ZKL_DISCONNECTED, EX_UNAVAILABLE},
    {ZKL_NODE_EXISTS, EX_CANTCREAT},
    {ZKL_LOST, EX_TEMPFAIL},
    {ZKL_UNKNOWN, EX_PROTOCOL},
    {ZKL_ACCESS_DENIED, EX_NOPERM},
    {ZKL_AUTH_FAILED, EX_NOPERM},
};

int cli_exit_code(zkl_status status) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].status == status)
            return codes[i].code;
    return EX_SOFTWARE;
}

/* ---- standard output ---- */

static bool is_terminal(void) {
    static int known = -1;
    if (known < 0)
        known = isatty(STDOUT_FILENO);
    return known;
}

void cli_output_data(const char *data, size_t length) {
    if (!is_terminal()) {
        fwrite(data, 1, length, stdout);
        return;
    }
    char *shown = cli_text_shown_lines(data, length);
    fputs(shown, stdout);
    if (length > 0 && data[length - 1] != '\n')
        putchar('\n');
    free(shown);
}

void cli_output_line(const char *text) {
    if (!is_terminal()) {
        puts(text);
        return;
    }
    char *shown = cli_text_shown(text, strlen(text));
    puts(shown);
    free(shown);
}

void cli_output_session(char text[CLI_SESSION_TEXT], int64_t session) {
    snprintf(text, CLI_SESSION_TEXT, "0x%" PRIx64, (uint64_t)session);
}

double cli_wall_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void cli_output_time(char text[CLI_TIME_TEXT], double seconds) {
    struct tm parts;
    const time_t whole = (time_t)seconds;
    if (!gmtime_r(&whole, &parts) ||
        strftime(text, CLI_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        text[0] = '\0';
}

void cli_output_stat(const zkl_stat *stat) {
    printf("version %" PRId32 "\nczxid %" PRId64 "\nmzxid %" PRId64 "\npzxid %" PRId64 "\n",
           stat->version, stat->czxid, stat->mzxid, stat->pzxid);
    printf("created %.3f\nmodified %.3f\n", (double)stat->ctime / 1e3, (double)stat->mtime / 1e3);
    printf("children %" PRId32 "\nlength %" PRId32 "\n", stat->children, stat->length);
    if (stat->session) {
        char owner[CLI_SESSION_TEXT];
        cli_output_session(owner, stat->session);
        printf("owner %s\n", owner);
    }
}
