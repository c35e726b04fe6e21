/* SPDX-License-Identifier: MIT */
/* state: what the three processes of a `zklock run` know of it and of each other.
 *
 * The front is the process that the user has started: it owns the terminal and the exit status. Its
 * child, the session, has the engine. The session's child, the watcher, forks the command. Each of
 * the three is a subreaper, so whichever of them dies, the next above it inherits the command and
 * its descendants. */
#ifndef ZKL_CLI_RUN_STATE_H
#define ZKL_CLI_RUN_STATE_H

#include "cli/connection.h"
#include "cli/held.h"
#include "cli/run/page.h"
#include "cli/text.h"
#include "zklock.h"

#include <poll.h>
#include <signal.h>
#include <termios.h>

/* ---- run.c: for what `zklock run` was asked. Filled once, before a process is forked ---- */

#define RUN_SESSION 40 /* seconds that are asked for by default */

enum run_on_loss { RUN_LOSS_KILL, RUN_LOSS_TERM, RUN_LOSS_IGNORE };
enum run_mark { RUN_MARK_BEFORE, RUN_MARK_AFTER, RUN_MARK_NONE };

/* Durations are seconds; below 0: not given. */
struct run_options {
    const char *servers;     /* of -z, or NULL */
    const char *config_file; /* of --config, or NULL */
    const char **paths;      /* PATH, then those of --also */
    size_t count;
    zkl_kind kind;
    int64_t permits;
    bool nonblock, close, verbose, revocable;
    double wait, connect, session, grace, splay;
    double every;    /* infinite with --once */
    const char *due; /* "--every" or "--once"; NULL: neither */
    int64_t conflict_code;
    enum run_on_loss on_loss;
    enum run_mark mark;
    const char *report, *identifier; /* or NULL */
    char **command;                  /* NULL at its end */
    char *shell_words[4];            /* of -c */
};

/* ---- inherited.c: what zklock has of its caller, and gives to the command or puts back: signal
 * mask, ignored signals, controlling terminal. A command that zklock kills cannot put the terminal
 * back itself: an editor leaves it raw, a shell keeps its foreground ---- */

struct signals {
    sigset_t mask;    /* inherited */
    sigset_t ignored; /* inherited */
    sigset_t heard;   /* those that the front hears: neither blocked nor ignored before */
};

/* Reads what was inherited. Then only SIGCHLD, SIGCONT and the heard signals are blocked, SIGCHLD
 * has its default action, and SIGXFSZ is ignored. */
void cli_signals_take(struct signals *signals);

/* For session and watcher: ignores every signal that can be ignored except SIGCHLD, and blocks all
 * of them. */
void cli_signals_ignore(void);

/* For the command, between fork and exec: as it was inherited. */
void cli_signals_give_back(const struct signals *signals);

/* Takes what is pending at the descriptor. */
void cli_signals_forget(int fd);

/* Ends this process by a signal, without a core. As process 1, or if that fails, it exits with 128
 * and the signal. */
_Noreturn void cli_signals_die(int signal);

struct terminal {
    bool there;      /* there is a controlling terminal */
    bool foreground; /* the run began in its foreground */
    struct termios settings;
};

void cli_terminal_read(struct terminal *terminal);
/* Puts foreground and settings back, if the run began in the foreground. Blocks SIGTTOU. */
void cli_terminal_restore(const struct terminal *terminal);

/* ---- loop.c: what a process waits for: signals, a moment, and others' descriptors. The alarm is a
 * descriptor that becomes readable at a moment of the boot clock, which goes on while the machine
 * is suspended: the time-out of poll(2) would sleep through that ---- */

enum { LOOP_SIGNALS, LOOP_ALARM, LOOP_OTHERS };

/* Opens LOOP_SIGNALS, readable while SIGCHLD or one of `signals`, or NULL, is pending, and
 * LOOP_ALARM; behind them stand the others; -1: none. false: errno says why. */
bool cli_loop_open(struct pollfd *polled, const sigset_t *signals, const int *others, nfds_t count);
/* Waits until one of all of them is ready, whatever signals come, or until the moment. */
void cli_loop_wait(struct pollfd *polled, nfds_t count, zkl_nanos until);

/* ---- progress.c: the line on the terminal that says what a run waits for. The front updates it in
 * place, once a second, while it is in the foreground ---- */

#define PROGRESS_TEXT 600

struct progress {
    char text[PROGRESS_TEXT]; /* empty: there is none */
    zkl_nanos since;          /* of the first text */
    bool shown;               /* it is on the terminal */
    int terminal;             /* opened for writes that do not wait; 0: not yet */
};

/* Is standard error a terminal that can erase a line? */
bool cli_progress_possible(void);
/* Shows another text. Empty: clears the line. */
void cli_progress_set(struct progress *progress, const char *text);
/* Erases the line until the next update: something else is about to be printed. */
void cli_progress_clear(struct progress *progress);
/* Shows the seconds anew. */
void cli_progress_update(struct progress *progress);
/* When the next update is due. */
zkl_nanos cli_progress_due(const struct progress *progress);

/* ---- all of it ---- */

struct run {
    struct run_options options;
    cli_settings settings;
    struct signals signals;
    struct page *page;
    char shown[CLI_TEXT_SHOWN];          /* the first path, in messages */
    char identity[CLI_IDENTITY];         /* unless there is --identifier */
    char *above;                         /* the nodes of the runs above this one, or NULL */
    char directory[HELD_DIRECTORY_SIZE]; /* with the socket of zklock held; empty: none */
    zkl_nanos started;
    struct terminal terminal;
    pid_t group;        /* of the front */
    int front, session; /* this process's channels to the two, or -1 */
    int lifeline;       /* watcher: readable when the front has ended */
};

/* ---- the three processes ---- */

/* Forks the session, passes signals on, and waits for the end. Returns the exit code of zklock, or
 * ends by a signal. */
int cli_front_live(struct run *run);

/* Runs in the new process, with run->front and run->lifeline. Returns its exit code; the page has
 * the outcome. */
int cli_session_live(struct run *run);

/* The life of the watcher, in a process of its own with one thread. Uses run->session and
 * run->lifeline. Returns when no descendant is left, or when --close has let them go. */
void cli_watcher_live(struct run *run);

/* ---- report.c ---- */

/* Front, or before there is one: writes the report, for the textfile collector of Prometheus's
 * node_exporter. `outcome` is how the run has ended. */
void cli_report(const struct run *run, const char *outcome, int exit_code);

/* ---- command.c: the user's program ---- */

/* Can it be executed? 0, or the errno with which execvp(3) would fail, as far as the file itself
 * shows. */
int cli_command_check(const struct run *run);
/* The exit code when it cannot be executed. */
int cli_command_code(int why);

/* Forks and executes it. Returns its process id; -1: errno says why. Only for the watcher. */
pid_t cli_command_start(const struct run *run);

/* Sends it a signal: to its process group if that is its own, and somebody is in it. Once it was
 * reaped, to all descendants of the watcher. */
void cli_command_signal(const struct run *run, int signal);

#endif
