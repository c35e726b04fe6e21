/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include "cli/complaint.h"
#include "cli/value.h"
#include "cli/text.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

cli_options cli_options_of(int argc, char **argv, const cli_syntax *syntax, double connect) {
    return (cli_options){.argc = argc, .argv = argv, .syntax = syntax, .connect = connect};
}

static int stop(cli_options *options, int code) {
    options->code = code;
    return CLI_OPTIONS_STOP;
}

/* 0: it was taken, and there is more to read. */
static int take_connect(cli_options *options) {
    const int code =
        cli_number_seconds_of("--connect", optarg, (cli_seconds){.most = 0}, &options->connect);
    return code ? stop(options, code) : 0;
}

static void name_option(cli_options *options, int value, int row) {
    if (row < 0)
        snprintf(options->name, sizeof options->name, "-%c", value);
    else
        snprintf(options->name, sizeof options->name, "--%s", options->syntax->table[row].name);
}

static int refuse(cli_options *options, const char *problem) {
    char shown[CLI_TEXT_SHOWN], letter[] = {'-', (char)optopt, '\0'};
    const char *word = options->argv[optind - 1];
    const bool is_letter =
        optopt > 0 && optopt < 256 && (options->grouped || strncmp(word, "--", 2) != 0);
    cli_text_show(shown, sizeof shown, is_letter ? letter : word);
    cli_misuse(shown, "%s; see zklock %s --help", problem, options->argv[0]);
    return stop(options, EX_USAGE);
}

static int take_common(cli_options *options, int value) {
    switch (value) {
    case 'z':
        options->hosts = optarg;
        return 0;
    case CLI_OPTION_CONFIG:
        options->config = optarg;
        return 0;
    case CLI_OPTION_CONNECT:
        return take_connect(options);
    case CLI_OPTION_HELP:
        fputs(options->syntax->help, stdout);
        return stop(options, EX_OK);
    case CLI_OPTION_VERSION:
        puts("zklock " ZKL_VERSION);
        return stop(options, EX_OK);
    case '?':
        return refuse(options, "unknown option, or one that takes no value");
    case ':':
        return refuse(options, "a value expected, got none");
    default:
        return value;
    }
}

int cli_options_next(cli_options *options) {
    opterr = 0;
    for (;;) {
        int row = -1;
        const int before = optind;
        const int value = getopt_long(options->argc, options->argv, options->syntax->letters,
                                      options->syntax->table, &row);
        if (value == -1)
            return CLI_OPTIONS_END;
        options->grouped = optind == before; /* getopt stays at a word with more letters */
        name_option(options, value, row);
        const int own = take_common(options, value);
        if (own != 0)
            return own;
    }
}

int cli_options_none(void *to, int option) {
    (void)to;
    return option;
}

bool cli_options_read(cli_options *options, int (*take)(void *to, int option), void *to) {
    for (int option; (option = cli_options_next(options)) != CLI_OPTIONS_END;) {
        if (option == CLI_OPTIONS_STOP)
            return false;
        options->code = take(to, option);
        if (options->code)
            return false;
    }
    return true;
}

int cli_options_expect(const cli_options *options, int least, int most, const char *usage) {
    const int count = options->argc - optind;
    if (count >= least && count <= most)
        return 0;
    return cli_misuse(options->argv[0], "%s expected, got %d argument%s; see zklock %s --help",
                      usage, count, count == 1 ? "" : "s", options->argv[0]);
}
