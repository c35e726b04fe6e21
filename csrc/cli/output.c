/* SPDX-License-Identifier: MIT */
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
