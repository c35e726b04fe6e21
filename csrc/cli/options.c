/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include "cli/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

cli_options cli_options_of(int argc, char **argv, const cli_syntax *syntax, double connect) {
    return (cli_options){.argc = argc, .argv = argv, .syntax = syntax, .connect = connect};
}

/* ---- both tables as getopt_long wants them ---- */

#define FIELD(name) .field = offsetof(cli_options, name)
/* Those that every subcommand has, for cli_options itself. */
static const cli_option common[] = {
    {"help", 0, .kind = CLI_HELP},
    {"version", 0, .kind = CLI_VERSION},
    {NULL, 'z', CLI_TEXT, FIELD(hosts)},
    {"config", 0, CLI_TEXT, FIELD(config)},
    {"connect", 0, CLI_SECONDS, FIELD(connect)},
};

enum { COMMON = sizeof common / sizeof *common, COMMON_OF_LOCAL = 2, ROWS_MOST = 48 };

/* A row without a letter has its number and this instead. */
#define NO_LETTER 256

typedef struct grammar {
    const cli_option *rows[ROWS_MOST]; /* the common ones first */
    int count, common, named;          /* of rows: all, common, with a name */
    struct option names[ROWS_MOST + 1];
    char letters[2 * ROWS_MOST + 3];
} grammar;

static bool has_value(const cli_option *row) {
    return row->kind >= CLI_TEXT && row->kind <= CLI_VALUE;
}

static void add(grammar *all, const cli_option *row) {
    const int number = all->count++, has = has_value(row) ? required_argument : no_argument;
    assert(number < ROWS_MOST);
    all->rows[number] = row;
    if (row->name)
        all->names[all->named++] =
            (struct option){row->name, has, NULL, row->letter ? row->letter : NO_LETTER + number};
    if (row->letter)
        snprintf(strchr(all->letters, '\0'), 3, "%c%s", row->letter, has_value(row) ? ":" : "");
}

static grammar grammar_of(const cli_syntax *syntax) {
    grammar all = {.common = syntax->local ? COMMON_OF_LOCAL : COMMON};
    snprintf(all.letters, sizeof all.letters, "%s", syntax->first ? "+:" : ":");
    for (int i = 0; i < all.common; i++)
        add(&all, &common[i]);
    for (const cli_option *row = syntax->table; row && (row->name || row->letter); row++)
        add(&all, row);
    return all;
}

/* The number of the row for which getopt_long has returned the value; -1: there is none. */
static int row_of(const grammar *all, int value) {
    if (value >= NO_LETTER)
        return value - NO_LETTER;
    for (int i = 0; i < all->count; i++)
        if (all->rows[i]->letter == value)
            return i;
    return -1;
}

/* ---- to take one ---- */

#define NAME 32    /* bytes */
#define SHOWN (-1) /* there is no more to do */

/* `grouped`: it is a letter with others behind it: -qn. */
static int refuse(const cli_options *options, int value, bool grouped) {
    const char *problem =
        value == ':' ? "a value expected, got none" : "unknown option, or one that takes no value";
    char letter[] = {'-', (char)optopt, '\0'};
    const char *word = options->argv[optind - 1];
    const bool is_letter =
        optopt > 0 && optopt < NO_LETTER && (grouped || strncmp(word, "--", 2) != 0);
    return cli_misuse(CLI_SHOWN(is_letter ? letter : word), "%s; see zklock %s --help", problem,
                      options->argv[0]);
}

static int show(const cli_option *row, const cli_syntax *syntax) {
    fputs(row->kind == CLI_HELP ? syntax->help : "zklock " ZKL_VERSION "\n", stdout);
    return SHOWN;
}

static int take_word(const cli_option *row, int *number, const char *name) {
    for (*number = 0; row->words[*number]; ++*number)
        if (strcmp(row->words[*number], optarg) == 0)
            return 0;
    return cli_misuse(name, "%s expected, got '%s'", row->expected, CLI_SHOWN(optarg));
}

/* Returns 0, SHOWN, or an exit code after a complaint. */
static int take(const cli_option *row, const cli_syntax *syntax, void *to, const char *name) {
    void *field = (char *)to + row->field;
    switch (row->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        return 0;
    case CLI_TEXT:
        *(const char **)field = optarg;
        return 0;
    case CLI_SECONDS:
        return cli_number_seconds_of(name, optarg, row->seconds, field);
    case CLI_WHOLE:
        return cli_number_whole_of(name, optarg, row->least, row->most, field);
    case CLI_WORD:
        return take_word(row, field, name);
    case CLI_VALUE:
    case CLI_ACT:
        return row->take(to, name);
    case CLI_REFUSED:
        return cli_misuse(name, "%s", row->refusal);
    case CLI_HELP:
    case CLI_VERSION:
        return show(row, syntax);
    }
    return 0;
}

static void name_latest(char name[NAME], int value, const char *word) {
    if (word)
        snprintf(name, NAME, "--%s", word);
    else
        snprintf(name, NAME, "-%c", value);
}

static bool are_there(cli_options *options) {
    const cli_syntax *syntax = options->syntax;
    if (syntax->arguments)
        options->code = cli_options_expect(options, syntax->least, syntax->most, syntax->arguments);
    return options->code == 0;
}

bool cli_options_read(cli_options *options, void *to) {
    const grammar all = grammar_of(options->syntax);
    opterr = 0;
    for (int code = 0; code == 0;) {
        char name[NAME];
        int word = -1;
        const int before = optind;
        const int value = getopt_long(options->argc, options->argv, all.letters, all.names, &word);
        if (value == -1)
            return are_there(options);
        const int row = row_of(&all, value);
        name_latest(name, value, word < 0 ? NULL : all.names[word].name);
        if (row < 0) /* getopt stays at a word with more letters */
            code = refuse(options, value, optind == before);
        else
            code = take(all.rows[row], options->syntax, row < all.common ? options : to, name);
        options->code = code == SHOWN ? EX_OK : code;
    }
    return false;
}

const char *cli_options_find(const cli_options *options, const char *name) {
    const grammar all = grammar_of(options->syntax);
    const char *found = NULL;
    optind = 0; /* getopt begins anew */
    for (int value = 0; value != -1;) {
        int word = -1;
        value = getopt_long(options->argc, options->argv, all.letters, all.names, &word);
        if (word >= 0 && strcmp(all.names[word].name, name) == 0)
            found = optarg;
    }
    return found;
}

int cli_options_expect(const cli_options *options, int least, int most, const char *usage) {
    const int count = options->argc - optind;
    if (count >= least && count <= most)
        return 0;
    return cli_misuse(options->argv[0], "%s expected, got %d argument%s; see zklock %s --help",
                      usage, count, count == 1 ? "" : "s", options->argv[0]);
}

int cli_connected(const cli_options *options, const char *path, zkl_path_use use, cli_task *task,
                  void *to) {
    cli_settings settings;
    cli_connection connection = {.seconds = options->connect};
    int code = cli_settings_read(&settings, options->hosts, options->config);
    if (code == 0)
        code = cli_path_check("PATH", path, settings.hosts, use);
    if (code == 0)
        code = cli_connection_open(&connection, &settings, CLI_SESSION, NULL);
    if (code == 0)
        code = cli_connection_session(&connection);
    if (code == 0)
        code = task(&connection, path, to);
    cli_connection_close(&connection, CLI_CLOSE_MOST);
    cli_settings_free(&settings);
    return code;
}
