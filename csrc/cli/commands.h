/* SPDX-License-Identifier: MIT */
/* commands: the subcommands. Each gets its own name as argv[0] and returns the exit code. */
#ifndef ZKL_CLI_COMMANDS_H
#define ZKL_CLI_COMMANDS_H

int cli_who(int argc, char **argv);
int cli_revoke(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_get(int argc, char **argv);
int cli_held(int argc, char **argv);
int cli_set(int argc, char **argv);
int cli_create(int argc, char **argv);
int cli_delete(int argc, char **argv);
int cli_ls(int argc, char **argv);
int cli_run(int argc, char **argv);

#endif
