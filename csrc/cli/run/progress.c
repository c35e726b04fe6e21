/* SPDX-License-Identifier: MIT */
#include "cli/run/state.h"

#include "cli/text.h"
#include "zklock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ERASE "\r\033[K"

bool cli_progress_possible(void) {
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && terminal[0] && strcmp(terminal, "dumb") != 0;
}

/* In the background a write would spoil a foreign screen. */
static bool is_foreground(void) {
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static int width(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* After Ctrl-S, or behind a remote shell that is cut off, a terminal takes nothing, and a write
 * waits for it. Meanwhile the front would hear no signal, and would not let the command start. In
 * the foreground standard error is the controlling terminal, which this opens once more. */
static int open_terminal(struct progress *progress) {
    if (!progress->terminal)
        progress->terminal = open("/dev/tty", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (progress->terminal < 0)
        progress->terminal = STDERR_FILENO;
    return progress->terminal;
}

static void put(struct progress *progress, const char *text, size_t length) {
    cli_write(open_terminal(progress), text, length);
}

/* Cuts the text off before a column of the terminal, at the beginning of a character of UTF-8. */
static size_t cut(const char *text, size_t columns) {
    size_t end = 0, count = 0;
    while (text[end] && count < columns) {
        end++;
        while (((unsigned char)text[end] & 0xC0) == 0x80)
            end++;
        count++;
    }
    return end;
}

void cli_progress_clear(struct progress *progress) {
    if (progress->shown && is_foreground())
        put(progress, ERASE, strlen(ERASE));
    progress->shown = false;
}

void cli_progress_update(struct progress *progress) {
    char seconds[32], line[PROGRESS_TEXT + 64];
    if (!progress->text[0] || !is_foreground())
        return;
    const long long waited = (long long)((zkl_now() - progress->since) / ZKL_SECOND);
    const int tail = snprintf(seconds, sizeof seconds, ", %lld s", waited);
    const int room = width() - 1 - tail;
    const int most = (int)cut(progress->text, room > 0 ? (size_t)room : 0);
    const int length = snprintf(line, sizeof line, ERASE "%.*s%s", most, progress->text, seconds);
    put(progress, line, (size_t)length);
    progress->shown = true;
}

void cli_progress_set(struct progress *progress, const char *text) {
    if (!progress->since)
        progress->since = zkl_now();
    snprintf(progress->text, sizeof progress->text, "%s", text);
    if (text[0])
        cli_progress_update(progress);
    else
        cli_progress_clear(progress);
}

zkl_nanos cli_progress_due(const struct progress *progress) {
    if (!progress->text[0])
        return ZKL_NEVER;
    const zkl_nanos waited = zkl_now() - progress->since;
    return progress->since + (waited / ZKL_SECOND + 1) * ZKL_SECOND;
}
