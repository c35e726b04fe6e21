/* SPDX-License-Identifier: MIT */
/* host: a program that has Lua in it, for specs about what a plain interpreter cannot do: it opens
 * and closes one Lua state after the other and lives on, forks, and becomes another program. See
 * spec/support/host.lua.
 *
 *     host SCRIPT... -- ARGUMENT...
 *
 * Each script runs in a new state, with the arguments as its `arg`; the state is closed before the
 * next is opened. A script may leave `handlers`, a list of { NAME, FUNCTION }: they are called
 * afterwards, one after the other, each on the thread of that name, "main" or another one, which
 * lies idle in between.
 *
 * With HOST_THREAD in the environment all of that is done in a thread of its own, which blocks all
 * signals if it is "blocked". */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#define WORDS_MOST 32

static int failure(lua_State *L) {
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

extern pid_t _Fork(void) __attribute__((weak)); /* glibc has it since 2.34 */

static pid_t bare_fork(void) {
    if (_Fork)
        return _Fork();
    errno = ENOSYS;
    return -1;
}

static pid_t clone_process(void) {
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* host.fork([how]) -> 0 in the child, its process id in the parent; or nil, why. `how`: "fork";
 * "_Fork" or "clone", which run no handler of pthread_atfork */
static int host_fork(lua_State *L) {
    static const char *const names[] = {"fork", "_Fork", "clone", NULL};
    static pid_t (*const ways[])(void) = {fork, bare_fork, clone_process};
    const int how = luaL_checkoption(L, 1, "fork", names);
    fflush(NULL); /* what is buffered is written once */
    const pid_t pid = ways[how]();
    if (pid < 0)
        return failure(L);
    lua_pushinteger(L, pid);
    return 1;
}

/* host.wait(child) -> exit code; or nil, signal */
static int host_wait(lua_State *L) {
    int status;
    if (waitpid((pid_t)luaL_checkinteger(L, 1), &status, 0) < 0)
        return failure(L);
    if (WIFEXITED(status)) {
        lua_pushinteger(L, WEXITSTATUS(status));
        return 1;
    }
    lua_pushnil(L);
    lua_pushinteger(L, WTERMSIG(status));
    return 2;
}

/* host.exec(program, ...): becomes another program; returns only when it cannot */
static int host_exec(lua_State *L) {
    const char *words[WORDS_MOST + 1];
    const int count = lua_gettop(L);
    luaL_argcheck(L, count >= 1 && count <= WORDS_MOST, count, "too many or no words");
    for (int i = 0; i < count; i++)
        words[i] = luaL_checkstring(L, i + 1);
    words[count] = NULL;
    fflush(NULL);
    execvp(words[0], (char *const *)words);
    return failure(L);
}

/* host.exit(code): at once, nothing is cleaned up */
static int host_exit(lua_State *L) {
    fflush(NULL);
    _exit((int)luaL_checkinteger(L, 1));
}

/* host.stop(): all threads stand still until somebody sends SIGCONT */
static int host_stop(lua_State *L) {
    (void)L;
    raise(SIGSTOP); /* the thread's own stop stops the process */
    return 0;
}

/* host.die(): as after kill -9 */
static int host_die(lua_State *L) {
    (void)L;
    fflush(NULL);
    raise(SIGKILL);
    return 0;
}

static int host_other_state(lua_State *L);

static void open_host(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"fork", host_fork},
        {"wait", host_wait},
        {"exec", host_exec},
        {"exit", host_exit},
        {"stop", host_stop},
        {"die", host_die},
        {"other_state", host_other_state},
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_pushcfunction(L, functions[i].func);
        lua_setfield(L, -2, functions[i].name);
    }
    lua_setglobal(L, "host");
}

static void push_arguments(lua_State *L, char **arguments) {
    lua_newtable(L);
    for (int i = 0; arguments[i]; i++) {
        lua_pushstring(L, arguments[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setglobal(L, "arg");
}

/* Pushes the thread of the name on top of the stack, which it takes away. */
static lua_State *thread_named(lua_State *L) {
    const char *name = lua_tostring(L, -1);
    if (name && strcmp(name, "main") == 0) {
        lua_pop(L, 1);
        return L;
    }
    lua_pushvalue(L, -1);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_State *thread = lua_tothread(L, -1);
    lua_pop(L, 1);
    if (!thread) {
        thread = lua_newthread(L);
        lua_rawset(L, LUA_REGISTRYINDEX);
    } else {
        lua_pop(L, 1);
    }
    return thread;
}

static const char handlers_key = 'h';

/* Pushes the function of the next handler; its thread. NULL: there is none left. Nothing else stays
 * on the stack: an idle thread has none of its own. */
static lua_State *next_handler(lua_State *L, int i) {
    lua_pushlightuserdata(L, (void *)&handlers_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_rawgeti(L, -1, i);
    lua_remove(L, -2);
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        return NULL;
    }
    lua_rawgeti(L, -1, 2);
    lua_rawgeti(L, -2, 1);
    lua_remove(L, -3);
    lua_State *thread = thread_named(L);
    if (thread != L)
        lua_xmove(L, thread, 1);
    return thread;
}

/* A handler that fails leaves its message. */
static bool run_handlers(lua_State *L) {
    lua_State *thread;
    lua_getglobal(L, "handlers");
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        return true;
    }
    lua_pushlightuserdata(L, (void *)&handlers_key);
    lua_insert(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    for (int i = 1; (thread = next_handler(L, i)); i++) {
        if (lua_pcall(thread, 0, 0, 0) == 0)
            continue;
        if (thread != L)
            lua_xmove(thread, L, 1);
        return false;
    }
    return true;
}

/* host.other_state(code) -> true; or nil, message. Runs the code in a new state, beside the
 * caller's, and closes it. */
static int host_other_state(lua_State *L) {
    const char *code = luaL_checkstring(L, 1);
    lua_State *other = luaL_newstate();
    if (!other)
        return luaL_error(L, "no memory for a Lua state");
    luaL_openlibs(other);
    open_host(other);
    const bool good = luaL_loadstring(other, code) == 0 && lua_pcall(other, 0, 0, 0) == 0;
    if (good)
        lua_pushboolean(L, true);
    else
        lua_pushnil(L), lua_pushstring(L, lua_tostring(other, -1));
    lua_close(other);
    return good ? 1 : 2;
}

static bool run(const char *script, char **arguments) {
    lua_State *L = luaL_newstate();
    if (!L) {
        fputs("host: no memory for a Lua state\n", stderr);
        return false;
    }
    luaL_openlibs(L);
    open_host(L);
    push_arguments(L, arguments);
    const bool good =
        luaL_loadfile(L, script) == 0 && lua_pcall(L, 0, 0, 0) == 0 && run_handlers(L);
    if (!good) {
        const char *message = lua_tostring(L, -1);
        fprintf(stderr, "host: %s\n", message ? message : "an error that is no string");
    }
    lua_close(L);
    return good;
}

struct job {
    char **argv;
    int scripts;
    bool good;
};

static void *run_all(void *arg) {
    struct job *job = arg;
    job->good = true;
    for (int i = 1; i < job->scripts; i++)
        job->good = run(job->argv[i], job->argv + job->scripts + 1) && job->good;
    return NULL;
}

/* The main thread, which has no Lua, gets the signals of the process. */
static bool run_in_thread(struct job *job, bool blocked) {
    pthread_t thread;
    sigset_t all, usual;
    sigfillset(&all);
    pthread_sigmask(blocked ? SIG_SETMASK : SIG_UNBLOCK, &all, &usual);
    const bool began = pthread_create(&thread, NULL, run_all, job) == 0;
    pthread_sigmask(SIG_SETMASK, &usual, NULL);
    return began && pthread_join(thread, NULL) == 0 && job->good;
}

int main(int argc, char **argv) {
    int scripts = 1;
    while (scripts < argc && strcmp(argv[scripts], "--") != 0)
        scripts++;
    if (scripts == 1 || scripts == argc) {
        fputs("usage: host SCRIPT... -- ARGUMENT...\n", stderr);
        return 2;
    }
    struct job job = {.argv = argv, .scripts = scripts};
    const char *thread = getenv("HOST_THREAD");
    if (thread)
        return run_in_thread(&job, strcmp(thread, "blocked") == 0) ? EXIT_SUCCESS : EXIT_FAILURE;
    run_all(&job);
    return job.good ? EXIT_SUCCESS : EXIT_FAILURE;
}
