/* SPDX-License-Identifier: MIT */
/* interrupt: signals that raise an error in the main program, as Ctrl-C does in lua(1). A process
 * may have several Lua states: the last one that asked gets the signal. Any thread may receive a
 * signal. Only the thread in which that state runs may touch it; every other one passes the signal
 * on. */
#include "binding.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    int number;
} signals[] = {{"TERM", SIGTERM}, {"HUP", SIGHUP}, {"INT", SIGINT}, {"QUIT", SIGQUIT}};

#define SIGNALS (sizeof signals / sizeof *signals)

/* A state that has asked for signals. It is never freed, because a signal handler may read it at
 * any time; when its state is closed, the next state that asks reuses it. */
struct program {
    _Atomic(lua_State *) main; /* NULL: its state is closed */
    atomic_uint turn;          /* the highest turn asked last */
    _Atomic(pthread_t) thread; /* the thread in which it runs, as far as known */
    /* the kernel's number of that thread, which shows whether it has ended */
    atomic_int tid;
    atomic_int passed;    /* a signal that another thread has received for it; 0: none */
    struct program *next; /* never changes */
};

static _Atomic(struct program *) programs; /* all that there ever were */
static atomic_uint turns;
static atomic_int arrived;
/* for changes; signal handlers do without */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const char *name_of(int number) {
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i].number == number)
            return signals[i].name;
    return "?";
}

/* Also runs in a coroutine that waits: csrc/lua/wait.c sets this hook there. In a section of core
 * it comes again with each instruction until the section is over. */
static void hook(lua_State *L, lua_Debug *frame) {
    (void)frame;
    if (zkl_is_in_section(L))
        return;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted: %s", name_of(arrived));
}

/* In the thread of the state: the hook runs before the program's next instruction. */
static void interrupt(struct program *program) {
    lua_State *main = program->main;
    if (main)
        lua_sethook(main, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* NULL: every state is closed. */
static struct program *latest(void) {
    struct program *found = NULL;
    for (struct program *each = programs; each; each = each->next)
        if (each->main && (!found || each->turn > found->turn))
            found = each;
    return found;
}

static bool runs_here(struct program *program) {
    return pthread_equal(program->thread, pthread_self());
}

/* A thread that has ended takes no signal. Then the state finds the signal in its next wait. */
static void pass_on(struct program *program, int number) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = program;
    program->passed = number;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), program->tid, number, &info);
}

/* A signal handler. The program may already have seen a signal that was passed on. */
static void handle(int number, siginfo_t *info, void *context) {
    struct program *program = latest();
    const bool passed = program && info->si_code == SI_QUEUE && info->si_value.sival_ptr == program;
    (void)context;
    if (!passed)
        arrived = number;
    if (!program) {
        signal(number, SIG_DFL);
        raise(number);
    } else if (!runs_here(program)) {
        pass_on(program, number);
    } else if (!passed || atomic_exchange(&program->passed, 0)) {
        interrupt(program);
    }
}

static int forget_program(lua_State *L) {
    struct program **box = luaL_checkudata(L, 1, "zklock.program");
    if (*box)
        (*box)->main = NULL;
    return 0;
}

/* locked. One that no state uses; NULL: no memory. */
static struct program *take_program(void) {
    for (struct program *each = programs; each; each = each->next)
        if (!each->main)
            return each;
    struct program *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->next = programs;
    programs = made;
    return made;
}

static const char program_key = 'p';

/* The state's own; NULL: the state has never asked. */
static struct program *program_of(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&program_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct program **box = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return box ? *box : NULL;
}

/* Room for the state's own, empty so far. */
static struct program **new_box(lua_State *L) {
    static const luaL_Reg methods[] = {{"__gc", forget_program}, {NULL, NULL}};
    zkl_metatable(L, "zklock.program", methods);
    lua_pushlightuserdata(L, (void *)&program_key);
    struct program **box = lua_newuserdata(L, sizeof *box);
    *box = NULL;
    luaL_getmetatable(L, "zklock.program");
    lua_setmetatable(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    return box;
}

static void note_thread(struct program *program) {
    if (runs_here(program) && program->tid)
        return;
    program->thread = pthread_self();
    program->tid = (int)syscall(SYS_gettid);
}

/* `main` gets the signals until its state is closed; then the one before it does. */
static void set_program(lua_State *L, lua_State *main) {
    struct program *program = program_of(L);
    struct program **box = program ? NULL : new_box(L);
    pthread_mutex_lock(&mutex);
    if (box)
        *box = program = take_program();
    if (program) {
        note_thread(program);
        program->turn = ++turns;
        program->main = main;
    }
    pthread_mutex_unlock(&mutex);
    if (!program)
        luaL_error(L, "not enough memory");
}

void zkl_interrupt_listen(lua_State *L, sigset_t *blocked) {
    struct program *program = programs ? program_of(L) : NULL;
    if (!program)
        return;
    note_thread(program);
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(signals[i].number, NULL, &action) == 0 && action.sa_sigaction == handle)
            sigdelset(blocked, signals[i].number);
    }
    if (atomic_exchange(&program->passed, 0))
        interrupt(program);
}

/* The main coroutine; NULL: this Lua (5.1, LuaJIT) can only say whether it is the running one, and
 * it is not. */
static lua_State *main_of(lua_State *L) {
#ifdef LUA_RIDX_MAINTHREAD
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    lua_State *main = lua_tothread(L, -1);
#else
    lua_State *main = lua_pushthread(L) ? L : NULL;
#endif
    lua_pop(L, 1);
    return main;
}

int zkl_lua_interrupt_on(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    lua_State *main = main_of(L);
    if (!main)
        return 0;
    set_program(L, main);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_flags = SA_SIGINFO;
    /* no SA_RESTART: an interrupted call returns, so that the program gets the signal now */
    action.sa_sigaction = handle;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        if (strcmp(name, signals[i].name) == 0)
            sigaction(signals[i].number, &action, NULL);
    lua_pushboolean(L, 1);
    return 1;
}
