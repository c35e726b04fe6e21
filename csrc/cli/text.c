/* SPDX-License-Identifier: MIT */
#include "cli/text.h"

#include "base/text.h"
#include "zklock.h"

#include <errno.h>
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

void *cli_memory_again(void *memory, size_t count, size_t size) {
    return given(reallocarray(memory, count ? count : 1, size));
}

char *cli_memory_text(const char *text) {
    return given(strdup(text));
}

char *cli_memory_format(const char *format, va_list arguments) {
    char *text = NULL;
    const int length = vasprintf(&text, format, arguments);
    return given(length < 0 ? NULL : text);
}

char *cli_memory_print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = cli_memory_format(format, arguments);
    va_end(arguments);
    return text;
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
    char *shown = cli_memory_again(NULL, 4 * length + ZKL_TEXT_PIECE, 1), *end = shown;
    for (size_t i = 0, taken; i < length; i += taken)
        end += zkl_text_piece(end, bytes + i, length - i, keep, &taken);
    *end = '\0';
    return shown;
}

char *cli_text_shown(const char *bytes, size_t length) {
    return show(bytes, length, (zkl_text_kept){.utf8 = is_utf8()});
}

char *cli_text_spelled(const char *bytes, size_t length) {
    return show(bytes, length, (zkl_text_kept){.utf8 = true});
}

const char *cli_text_show(char to[CLI_TEXT_SHOWN], const char *text) {
    static const char more[] = "...";
    char *shown = cli_text_shown(text, strlen(text));
    size_t end = strlen(shown);
    if (end >= CLI_TEXT_SHOWN)
        for (end = CLI_TEXT_SHOWN - sizeof more; ((unsigned char)shown[end] & 0xC0) == 0x80;)
            end--; /* to the beginning of a character of UTF-8 */
    snprintf(to, CLI_TEXT_SHOWN, "%.*s%s", (int)end, shown, shown[end] ? more : "");
    free(shown);
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
    static const struct timespec at_once = {.tv_sec = 0};
    sigset_t refusals, all, before;
    sigemptyset(&refusals);
    sigaddset(&refusals, SIGPIPE);
    sigaddset(&refusals, SIGXFSZ);
    all = refusals;
    sigaddset(&all, SIGTTOU);
    sigprocmask(SIG_BLOCK, &all, &before);
    for (size_t done = 0; done < length;) {
        const ssize_t written = write(fd, text + done, length - done);
        if (written <= 0)
            break; /* nobody reads it now */
        done += (size_t)written;
    }
    while (sigtimedwait(&refusals, NULL, &at_once) > 0)
        continue;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* In one write: lines of several processes do not get mixed. Frees the message. */
static void say(const char *prefix, char *message) {
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
    say("", cli_memory_format(format, arguments));
    va_end(arguments);
}

void cli_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say("warning: ", cli_memory_format(format, arguments));
    va_end(arguments);
}

int cli_misuse(const char *argument, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *problem = cli_memory_format(format, arguments);
    va_end(arguments);
    cli_complain("bad argument '%s': %s", argument, problem);
    free(problem);
    return EX_USAGE;
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

/* ---- numbers ---- */

#define SECONDS_MOST 1e12 /* where an option has no bound of its own */

/* Seconds in the unit with that name; 0: there is none. */
static double unit_of(const char *name) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].seconds;
    return 0;
}

/* strtod also takes hexadecimals, exponents, words, signs and spaces, none of which are meant. */
bool cli_number_seconds(const char *text, double *seconds) {
    static const char digits[] = "0123456789";
    const size_t whole = strspn(text, digits);
    const size_t point = text[whole] == '.';
    const size_t fraction = point ? strspn(text + whole + 1, digits) : 0;
    const double unit = unit_of(text + whole + point + fraction);
    if (whole + fraction == 0 || unit <= 0)
        return false;
    *seconds = strtod(text, NULL) * unit; /* main keeps LC_NUMERIC at "C" */
    return true;
}

bool cli_number_whole(const char *text, int64_t least, int64_t most, int64_t *number) {
    char *end;
    const size_t sign = text[0] == '-';
    if (text[sign] < '0' || text[sign] > '9')
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && !*end && *number >= least && *number <= most;
}

int cli_number_seconds_of(const char *option, const char *text, cli_seconds range,
                          double *seconds) {
    const bool good = cli_number_seconds(text, seconds);
    const bool enough = good && (*seconds > 0 || !range.positive);
    const double most = range.most > 0 ? range.most : SECONDS_MOST;
    if (enough && *seconds <= most)
        return 0;
    if (!enough)
        return cli_misuse(option, "seconds %s 0 expected, got '%s'%s",
                          range.positive ? "above" : ">=", CLI_SHOWN(text),
                          good ? "" : "; the units are ms, s, m, h and d");
    return cli_misuse(option, "seconds %s %.0f expected, got '%s'",
                      range.positive ? "above 0 and up to" : "from 0 to", most, CLI_SHOWN(text));
}

int cli_number_whole_of(const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *number) {
    if (cli_number_whole(text, least, most, number))
        return 0;
    return cli_misuse(option, "integer from %" PRId64 " to %" PRId64 " expected, got '%s'", least,
                      most, CLI_SHOWN(text));
}

/* ---- paths and files ---- */

int cli_path_check(const char *argument, const char *path, const char *hosts, zkl_path_use use) {
    const char *chroot = strchr(hosts, '/');
    const char *problem = zkl_path_problem(path, chroot && chroot[1] ? chroot : "", use);
    if (!problem)
        return 0;
    return cli_misuse(argument, "path '%s': %s", CLI_SHOWN(path), problem);
}

ssize_t cli_read(int fd, char *to, size_t most) {
    size_t length = 0;
    while (length < most) {
        const ssize_t got = read(fd, to + length, most - length);
        if (got == 0)
            break;
        if (got > 0)
            length += (size_t)got;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)length;
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
    char *shown = show(data, length, (zkl_text_kept){.utf8 = is_utf8(), .lines = true});
    fputs(shown, stdout);
    if (length > 0 && data[length - 1] != '\n')
        putchar('\n');
    free(shown);
}

void cli_output_shown(const char *text) {
    char *shown = cli_text_shown(text, strlen(text));
    puts(shown);
    free(shown);
}

void cli_output_line(const char *text) {
    if (is_terminal())
        cli_output_shown(text);
    else
        puts(text);
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
