/* SPDX-License-Identifier: MIT */
#include "cli/run/state.h"

#include "cli/text.h"
#include "cli/run/page.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As env(1) and the shells have it. */
enum { CANNOT_EXECUTE = 126, NOT_FOUND = 127 };

static void set_or_unset(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* The command may be at work in another directory. */
static void set_config(const char *file) {
    char *here = file && file[0] != '/' ? getcwd(NULL, 0) : NULL;
    char *full = here ? cli_memory_print("%s/%s", here, file) : NULL;
    set_or_unset("ZKLOCK_CONFIG", full ? full : file);
    free(full);
    free(here);
}

/* As ZKLOCK_KIND has them. */
static const char *const kinds[ZKL_KINDS] = {
    [ZKL_KIND_LOCK] = "mutex",
    [ZKL_KIND_READ] = "read",
    [ZKL_KIND_WRITE] = "write",
    [ZKL_KIND_LEASE] = "semaphore",
};

static void set_environment(const struct run *run) {
    char token[24];
    snprintf(token, sizeof token, "%" PRId64, run->page->token);
    setenv("ZKLOCK_PATH", run->options.paths[0], 1);
    setenv("ZKLOCK_TOKEN", token, 1);
    setenv("ZKLOCK_NODE", run->page->nodes, 1);
    setenv("ZKLOCK_KIND", kinds[run->options.kind], 1);
    setenv("ZKLOCK_SERVERS", run->settings.hosts, 1);
    set_config(run->settings.file);
    /* without a directory: something below which nothing answers */
    setenv("ZKLOCK_RUN", run->directory[0] ? run->directory : "/dev/null", 1);
    set_or_unset("ZKLOCK_ABOVE", run->above);
}

int cli_command_code(int why) {
    return why == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
}

static _Noreturn void execute(const struct run *run) {
    char **words = run->options.command;
    set_environment(run);
    cli_signals_give_back(&run->signals);
    execvp(words[0], words);
    const int why = errno;
    cli_complain("%s: %s", CLI_SHOWN(words[0]), strerror(why));
    _exit(cli_command_code(why));
}

/* 0, or an errno. */
static int check_file(const char *file) {
    struct stat found;
    if (faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) != 0)
        return errno;
    return stat(file, &found) == 0 && S_ISDIR(found.st_mode) ? EACCES : 0;
}

/* In the directories of PATH, as execvp(3) looks. One that it may not execute counts if there is no
 * other. */
static int check_name(const char *name, const char *places) {
    int why = ENOENT;
    for (size_t length; why; places += length + 1) {
        length = strcspn(places, ":");
        char *file = cli_memory_print("%.*s%s%s", (int)length, places, length ? "/" : "", name);
        const int refused = check_file(file);
        free(file);
        if (refused == 0 || refused == EACCES)
            why = refused;
        if (!places[length])
            break;
    }
    return why;
}

int cli_command_check(const struct run *run) {
    const char *name = run->options.command[0], *places = getenv("PATH");
    if (strchr(name, '/'))
        return check_file(name);
    return places ? check_name(name, places) : 0; /* without PATH each libc has its own list */
}

pid_t cli_command_start(const struct run *run) {
    const pid_t child = fork();
    if (child < 0)
        return -1;
    /* Both do it: whichever comes first, the group is there before a signal is sent to it. */
    setpgid(child, run->terminal.there ? run->group : child);
    if (child == 0)
        execute(run);
    return child;
}

void cli_command_signal(const struct run *run, int signal) {
    const pid_t command = atomic_load(&run->page->command);
    if (atomic_load(&run->page->phase) != PAGE_RUNNING)
        cli_reaper_signal(signal);
    else if (run->terminal.there || kill(-command, signal) != 0)
        kill(command, signal); /* it may have left its group, and have been the only one in it */
}
