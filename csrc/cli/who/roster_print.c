/* SPDX-License-Identifier: MIT */
/* roster_print: a roster as a table, or as JSON. */
#include "cli/who/roster.h"

#include "cli/text.h"
#include "zklock.h"

#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is in a row ---- */

static const char *kind_of(const cli_row *row) {
    static const char *const kinds[] = {
        [ZKL_KIND_NONE] = "",       [ZKL_KIND_LOCK] = "lock",   [ZKL_KIND_READ] = "read",
        [ZKL_KIND_WRITE] = "write", [ZKL_KIND_LEASE] = "lease",
    };
    _Static_assert(sizeof kinds / sizeof *kinds == ZKL_KINDS, "each kind has a name");
    return kinds[row->kind];
}

static const char *state_of(const cli_row *row) {
    static const char *const states[] = {
        [CLI_WAITS] = "waits", [CLI_HOLDS] = "holds", [CLI_GONE] = "gone"};
    return states[row->standing];
}

/* Seconds since it was made, by our clock and the servers'; not below 0. */
static double age_of(const cli_row *row) {
    const double age = cli_wall_clock() - row->created;
    return age > 0 ? age : 0;
}

/* ---- JSON: not by libsmartcols, which has no empty text, and no object on one line ---- */

/* It is UTF-8 without control characters. */
void cli_json_text(const char *before, const char *text) {
    printf("%s\"", before);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

void cli_row_print_json(const cli_row *row) {
    char session[CLI_SESSION_TEXT];
    cli_output_session(session, row->session);
    cli_json_text("{\"path\": ", row->path);
    cli_json_text(", \"node\": ", row->node);
    printf(", \"kind\": \"%s\", \"state\": \"%s\"", kind_of(row), state_of(row));
    cli_json_text(", \"identifier\": ", row->identifier);
    printf(", \"session\": \"%s\", \"token\": \"%" PRId64 "\", \"created\": %.3f, \"age\": %.3f}",
           session, row->token, row->created, age_of(row));
}

void cli_roster_print_json(const cli_roster *roster) {
    fputs("{\"who\": [", stdout);
    for (size_t i = 0; i < roster->count; i++) {
        fputs(i == 0 ? "\n  " : ",\n  ", stdout);
        cli_row_print_json(&roster->rows[i]);
    }
    puts(roster->count == 0 ? "]}" : "\n]}");
}

/* ---- the table ---- */

enum { PATH, NODE, KIND, STATE, IDENTIFIER, SESSION, TOKEN, CREATED, AGE, COLUMNS };

static const struct {
    const char *name;
    int flags;
} columns[COLUMNS] = {
    [PATH] = {"PATH", 0},
    [NODE] = {"NODE", SCOLS_FL_TRUNC},
    [KIND] = {"KIND", 0},
    [STATE] = {"STATE", 0},
    [IDENTIFIER] = {"IDENTIFIER", SCOLS_FL_TRUNC},
    [SESSION] = {"SESSION", 0},
    [TOKEN] = {"TOKEN", SCOLS_FL_RIGHT},
    [CREATED] = {"CREATED", 0},
    [AGE] = {"AGE", SCOLS_FL_RIGHT},
};

/* The largest two units, for people: 12s, 3m12s, 2h05m, 3d04h. */
static void print_age(char text[32], double age) {
    const int64_t seconds = age < 1e15 ? (int64_t)age : INT64_MAX;
    if (seconds < 60)
        snprintf(text, 32, "%" PRId64 "s", seconds);
    else if (seconds < 3600)
        snprintf(text, 32, "%" PRId64 "m%02" PRId64 "s", seconds / 60, seconds % 60);
    else if (seconds < 86400)
        snprintf(text, 32, "%" PRId64 "h%02" PRId64 "m", seconds / 3600, seconds / 60 % 60);
    else
        snprintf(text, 32, "%" PRId64 "d%02" PRId64 "h", seconds / 86400, seconds / 3600 % 24);
}

static bool put(struct libscols_line *line, size_t column, const char *cell) {
    return scols_line_refer_data(line, column, cli_text_shown(cell, strlen(cell))) == 0;
}

static bool fill(struct libscols_line *line, const cli_row *row) {
    char session[CLI_SESSION_TEXT], token[32], created[CLI_TIME_TEXT], age[32];
    cli_output_session(session, row->session);
    snprintf(token, sizeof token, "%" PRId64, row->token);
    cli_output_time(created, row->created);
    print_age(age, age_of(row));
    const char *const cells[COLUMNS] = {
        [PATH] = row->path,
        [NODE] = row->node,
        [KIND] = kind_of(row),
        [STATE] = state_of(row),
        [IDENTIFIER] = row->identifier,
        [SESSION] = session,
        [TOKEN] = token,
        [CREATED] = created,
        [AGE] = age,
    };
    for (size_t i = 0; i < COLUMNS; i++)
        if (!put(line, i, cells[i]))
            return false;
    return true;
}

static bool build(struct libscols_table *table, const cli_roster *roster) {
    for (size_t i = 0; i < COLUMNS; i++)
        if (!scols_table_new_column(table, columns[i].name, 0, columns[i].flags))
            return false;
    for (size_t i = 0; i < roster->count; i++) {
        struct libscols_line *line = scols_table_new_line(table, NULL);
        if (!line || !fill(line, &roster->rows[i]))
            return false;
    }
    return true;
}

bool cli_roster_print_table(const cli_roster *roster, bool heading) {
    struct libscols_table *table = scols_new_table();
    if (!table)
        return false;
    scols_table_enable_noencoding(table, 1); /* the texts are safe, and would be spelled twice */
    scols_table_enable_noheadings(table, !heading);
    const bool good = build(table, roster) && scols_print_table(table) == 0;
    scols_unref_table(table);
    return good;
}

/* ---- why each waits ---- */

/* Does `front`, which is in front of it in the same line, keep `row` waiting? */
static bool keeps(const cli_row *front, const cli_row *row) {
    if (strcmp(front->path, row->path) != 0 || front->kind == ZKL_KIND_LEASE)
        return false;
    return row->kind != ZKL_KIND_READ || front->kind == ZKL_KIND_WRITE;
}

static void print_why(const cli_roster *roster, size_t own) {
    const cli_row *row = &roster->rows[own], *next = NULL;
    size_t ahead = 0, count = 0;
    char age[32];
    for (size_t i = 0; i < roster->count; i++) {
        count += strcmp(roster->rows[i].path, row->path) == 0;
        if (i >= own || !keeps(&roster->rows[i], row))
            continue;
        next = &roster->rows[i];
        ahead++;
    }
    char *who = cli_text_shown(row->identifier, strlen(row->identifier));
    char *front = next ? cli_text_shown(next->identifier, strlen(next->identifier)) : NULL;
    print_age(age, age_of(next ? next : row));
    if (next)
        printf("%s: number %zu of %zu, behind %s, which %s, and came %s ago\n", who, ahead + 1,
               count, front, state_of(next), age);
    else
        printf("%s: first, and waits for a lease since %s\n", who, age);
    free(who);
    free(front);
}

void cli_roster_print_waits(const cli_roster *roster) {
    for (size_t i = 0; i < roster->count; i++)
        if (roster->rows[i].standing == CLI_WAITS && roster->rows[i].kind != ZKL_KIND_LEASE)
            print_why(roster, i);
}
