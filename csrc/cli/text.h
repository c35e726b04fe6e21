/* SPDX-License-Identifier: MIT */
/* text: what zklock reads of its user, and what it says. Others' texts are spelled so that they
 * cannot write on a terminal: bytes that are no printable character become \x1b and the like.
 * Without memory the program ends. */
#ifndef ZKL_CLI_TEXT_H
#define ZKL_CLI_TEXT_H

#include "zklock.h"

#include <stdarg.h>
#include <sys/types.h>
#include <sysexits.h>

/* ---- memory ---- */

/* The caller frees the result. Without memory the process complains and ends with EX_SOFTWARE. */
void *cli_memory_again(void *memory, size_t count, size_t size);
char *cli_memory_text(const char *text);
char *cli_memory_format(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0)));
char *cli_memory_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Wipes a text, or NULL, and frees it. */
void cli_memory_wipe(char *secret);

/* ---- others' texts ---- */

/* For people: the spelling, as a text of its own, which the caller frees. Where the locale is not
 * one of UTF-8, all that is not ASCII is spelled, too: a terminal could take it for something else,
 * and libsmartcols loops for ever over it. */
char *cli_text_shown(const char *bytes, size_t length);

/* For programs: UTF-8, whatever the locale. */
char *cli_text_spelled(const char *bytes, size_t length);

/* The spelling of a text within a message; "..." stands for what does not fit. Returns `to`. */
#define CLI_TEXT_SHOWN 104 /* bytes */
const char *cli_text_show(char to[CLI_TEXT_SHOWN], const char *text);

/* The same, in memory of the block that it stands in. */
#define CLI_SHOWN(text) cli_text_show((char[CLI_TEXT_SHOWN]){""}, text)

/* ---- standard error: one line, `zklock: REASON`, and the exit code ----
 *
 * The codes are those of sysexits(3), which scripts and cron jobs know:
 *
 *   EX_USAGE 64        wrong arguments, or a configuration that cannot be used
 *   EX_DATAERR 65      wrong kind, deadlock, bad version, not empty, too big
 *   EX_NOINPUT 66      no node
 *   EX_UNAVAILABLE 69  no session, or no answer, in time
 *   EX_SOFTWARE 70     any other error
 *   EX_CANTCREAT 73    node exists
 *   EX_TEMPFAIL 75     the lock was lost or revoked; a guard is gone
 *   EX_PROTOCOL 76     unknown: nobody can say whether the write was done
 *   EX_NOPERM 77       access denied, auth failed */

/* Writes text as far as the reader takes it. No signal ends or stops this process for it, so the
 * exit code tells what happened: not if the reader has gone, not at a limit on the size of files,
 * not in the background of a terminal after `stty tostop`. */
void cli_write(int fd, const char *text, size_t length);

/* From now on a line that nobody takes within so many milliseconds is left out. Without it a line
 * is waited for. */
void cli_complaint_patience(int milliseconds);
/* Would a line be taken within so many milliseconds? A write to a pipe that is full, or to a
 * terminal after Ctrl-S, would wait. */
bool cli_complaint_is_taken(int milliseconds);

void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* `zklock: warning: ...`: it goes on all the same. */
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Complains of an argument, by its name: "PATH", "--connect". Returns EX_USAGE. */
int cli_misuse(const char *argument, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The lock is held by somebody else; nobody holds what is to be revoked. */
#define CLI_EXIT_BUSY 1
/* There is a deadlock. */
#define CLI_EXIT_FOUND 1

/* ZKL_TIMEOUT counts as no answer in time: a caller that waits for a lock asks for it before. */
int cli_exit_code(zkl_status status);

/* ---- numbers, with a point whatever the locale; paths; files ---- */

/* A duration of at least 0: 0.5 is half a second, and so is 500ms; the units are ms, s, m, h and d.
 * false: the text is none. One that is too large for a double is infinite. */
bool cli_number_seconds(const char *text, double *seconds);

/* A whole number within the bounds. false: the text is none. */
bool cli_number_whole(const char *text, int64_t least, int64_t most, int64_t *number);

/* Which durations an option takes. */
typedef struct cli_seconds {
    bool positive; /* 0 is none of them */
    double most;   /* 0: no bound but that of all durations */
} cli_seconds;

/* The value of an option. Complains of it and returns EX_USAGE, or 0. */
int cli_number_seconds_of(const char *option, const char *text, cli_seconds range, double *seconds);
int cli_number_whole_of(const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *number);

/* `hosts` has the chroot. Complains of `argument` and returns EX_USAGE, or 0. */
int cli_path_check(const char *argument, const char *path, const char *hosts, zkl_path_use use);

/* Reads to the end, or `most` bytes. Returns how many; -1: errno says why. */
ssize_t cli_read(int fd, char *to, size_t most);

/* ---- standard output. A pipe or a file gets others' texts as they are ---- */

/* A node's data. On a terminal newlines and tabs stay, and the last line is ended. */
void cli_output_data(const char *data, size_t length);

/* A line for people, spelled in any case. */
void cli_output_shown(const char *text);

/* A name or a path, and a newline. */
void cli_output_line(const char *text);

/* A node's metadata: a name and a value a line. */
void cli_output_stat(const zkl_stat *stat);

/* A session's id, as ZooKeeper's tools print it. */
#define CLI_SESSION_TEXT 19
void cli_output_session(char text[CLI_SESSION_TEXT], int64_t session);

/* Seconds since 1970, by this machine's clock. */
double cli_wall_clock(void);

/* Such a moment, as 2026-01-31T12:00:00Z; empty if it is none. */
#define CLI_TIME_TEXT 32
void cli_output_time(char text[CLI_TIME_TEXT], double seconds);

#endif
