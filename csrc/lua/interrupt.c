/* interrupt: signals that raise an error in the main program, as Ctrl-C does in lua(1). A process
 * may have several Lua states: the one that asked last is told. */
#include "binding.h"

#include <signal.h>
#include <string.h>

static const struct {
    const char *name;
    int number;
} signals[] = {{"TERM", SIGTERM}, {"HUP", SIGHUP}, {"INT", SIGINT}, {"QUIT", SIGQUIT}};

#define SIGNALS (sizeof signals / sizeof *signals)

/* A state that asked for signals, until it is closed. */
struct program {
    lua_State *main;
    struct program *former;
};

static struct program *volatile latest; /* it hears of them; NULL: every state is closed */
static volatile sig_atomic_t arrived;

static const char *name_of(int number) {
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i].number == number)
            return signals[i].name;
    return "?";
}

/* In a coroutine, too, if that waits: csrc/lua/client.c gives it this hook. */
static void hook(lua_State *L, lua_Debug *frame) {
    (void)frame;
    lua_sethook(L, NULL, 0, 0);
    luaL_error(L, "interrupted: %s", name_of(arrived));
}

/* A signal handler: the hook runs before the program's next instruction. */
static void handle(int number) {
    const struct program *program = latest;
    arrived = number;
    if (program) {
        lua_sethook(program->main, hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
    } else {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static void unlink_program(const struct program *program) {
    struct program *volatile *at = &latest;
    while (*at && *at != program)
        at = (struct program *volatile *)&(*at)->former;
    if (*at)
        *at = program->former;
}

static int forget_program(lua_State *L) {
    unlink_program(luaL_checkudata(L, 1, "zklock.program"));
    return 0;
}

/* The state's own, made if need be. */
static struct program *program_of(lua_State *L) {
    static const luaL_Reg methods[] = {{"__gc", forget_program}, {NULL, NULL}};
    static const char key = 'p';
    lua_pushlightuserdata(L, (void *)&key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    struct program *program = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (program)
        return program;
    zkl_metatable(L, "zklock.program", methods);
    lua_pushlightuserdata(L, (void *)&key);
    program = lua_newuserdata(L, sizeof *program);
    *program = (struct program){NULL, NULL};
    luaL_getmetatable(L, "zklock.program");
    lua_setmetatable(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
    return program;
}

/* Until its state is closed `main` is the program; from then on the one before it. */
static void set_program(lua_State *L, lua_State *main) {
    struct program *program = program_of(L);
    if (program == latest)
        return; /* no signal finds nobody meanwhile */
    unlink_program(program);
    program->main = main;
    program->former = latest;
    latest = program;
}

/* The main coroutine; NULL: this Lua (5.1, LuaJIT) tells only whether it is the running one, and it
 * is not. */
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
    action.sa_handler = handle; /* what it interrupts returns: the program is to hear of it now */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        if (strcmp(name, signals[i].name) == 0)
            sigaction(signals[i].number, &action, NULL);
    lua_pushboolean(L, 1);
    return 1;
}
