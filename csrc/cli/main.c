/* SPDX-License-Identifier: MIT */
/* main: zklock(1): picks the subcommand. */
#include "cli/options.h"
#include "cli/text.h"
#include "zklock.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage, *purpose;
} commands[] = {
    {"run", cli_run, "[OPTIONS] PATH [--] COMMAND [ARG...]", "run a command while holding a lock"},
    {"who", cli_who, "[OPTIONS] PATH", "show who holds a lock, and who waits for it"},
    {"check", cli_check, "[OPTIONS] PATH TOKEN", "ask whether a holder has this fencing token"},
    {"revoke", cli_revoke, "[OPTIONS] PATH", "ask the holders of a lock to give it back"},
    {"doctor", cli_doctor, "[OPTIONS] [PATH]", "look for what could keep locks from working"},
    {"get", cli_node, "[OPTIONS] PATH", "write a node's data to standard output"},
    {"set", cli_node, "[OPTIONS] PATH VALUE", "write a node's data"},
    {"create", cli_node, "[OPTIONS] PATH [VALUE]", "make a node"},
    {"delete", cli_node, "[OPTIONS] PATH", "delete a node that has no children"},
    {"ls", cli_node, "[OPTIONS] PATH", "list the names of a node's children"},
    {"held", cli_held, "", "below `zklock run`: for how long the lock is held"},
};

static int show_help(void) {
    puts("usage: zklock SUBCOMMAND [OPTIONS] ...\n"
         "\n"
         "Distributed locks over ZooKeeper.\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        printf("  zklock %s%s%s\n      %s\n", commands[i].name, commands[i].usage[0] ? " " : "",
               commands[i].usage, commands[i].purpose);
    puts("  zklock help [SUBCOMMAND]\n      show the options of one\n\nzklock(1) is the manual.");
    return EX_OK;
}

static int show_version(void) {
    puts("zklock " ZKL_VERSION);
    return EX_OK;
}

static bool is_either(const char *word, const char *letter, const char *name) {
    return strcmp(word, letter) == 0 || strcmp(word, name) == 0;
}

/* The row of a subcommand; -1 after a complaint. */
static int find(const char *name) {
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return (int)i;
    cli_misuse("SUBCOMMAND", "no subcommand '%s'; see zklock --help", CLI_SHOWN(name));
    return -1;
}

/* The words of `zklock help`: its own name, and perhaps a subcommand. */
static int help(int argc, char **argv) {
    static char option[] = "--help";
    if (argc > 2)
        return cli_misuse("help", "at most one SUBCOMMAND expected, got %d arguments", argc - 1);
    if (argc == 1 || strcmp(argv[1], "help") == 0 || is_either(argv[1], "-h", "--help"))
        return show_help();
    const int row = find(argv[1]);
    return row < 0 ? EX_USAGE : commands[row].run(2, (char *[]){argv[1], option, NULL});
}

static int run(int argc, char **argv) {
    if (argc < 2)
        return cli_misuse("SUBCOMMAND", "one expected, got none; see zklock --help");
    if (is_either(argv[1], "-h", "--help"))
        return show_help();
    if (is_either(argv[1], "-V", "--version"))
        return show_version();
    if (strcmp(argv[1], "help") == 0)
        return help(argc - 1, argv + 1);
    const int row = find(argv[1]);
    return row < 0 ? EX_USAGE : commands[row].run(argc - 1, argv + 1);
}

/* Closed ones stay of no use, but no socket can take their numbers: what is meant for people would
 * go to a server. A command that is executed has them closed again. */
static bool keep_standard_descriptors(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode | O_CLOEXEC) != fd)
            return false;
    }
    return true;
}

/* Output that does not arrive (a full disk) is a failure, too. */
int main(int argc, char **argv) {
    if (!keep_standard_descriptors())
        return EX_SOFTWARE;
    setlocale(LC_CTYPE, ""); /* numbers stay those of the C locale */
    const int code = run(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    cli_complain("cannot write to standard output: %s", strerror(errno));
    return code ? code : EX_SOFTWARE;
}
