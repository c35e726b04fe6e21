/* SPDX-License-Identifier: MIT */
/* wait: suspends the host's thread until the client has an event. */
#include "binding.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

/* The main coroutine, if another one runs. NULL also where Lua cannot say which it is (plain 5.1),
 * and where all coroutines have one hook (LuaJIT). */
static lua_State *other_main(lua_State *L) {
    lua_State *main = NULL;
#ifdef LUA_RIDX_MAINTHREAD
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    main = lua_tothread(L, -1);
    lua_pop(L, 1);
#endif
    return main != L ? main : NULL;
}

/* The interpreter's Ctrl-C sets a hook on the main coroutine only, for the very next instruction. A
 * coroutine that waits takes the hook as well, once (`fresh`: a signal has just come). The main
 * coroutine runs the hook when it goes on, perhaps late: until then a coroutine that has caught the
 * error may wait again. */
static bool take_hook(lua_State *L, lua_State *main, bool fresh) {
    static _Atomic(lua_State *) heard; /* the main coroutine whose hook was taken already */
    const lua_Hook hook = main ? lua_gethook(main) : NULL;
    const bool next = hook && lua_gethookmask(main) & LUA_MASKCOUNT && lua_gethookcount(main) == 1;
    if (!next && heard == main)
        heard = NULL;
    if (!next || (!fresh && heard == main))
        return false;
    heard = main;
    lua_sethook(L, hook, lua_gethookmask(main), 1);
    return true;
}

static struct pollfd readable(zkl_client *client) {
    return (struct pollfd){.fd = zkl_fd(client), .events = POLLIN};
}

/* The descriptors of the clients in the table in argument 3, with room for one more before them.
 * The memory stays on the stack. */
static struct pollfd *others_of(lua_State *L, size_t count) {
    struct pollfd *fds = lua_newuserdata(L, (1 + count) * sizeof *fds);
    for (size_t i = 1; i <= count; i++) {
        lua_rawgeti(L, 3, (int)i);
        fds[i] = readable(zkl_check_client(L, -1));
        lua_pop(L, 1);
    }
    return fds;
}

/* Arguments: the client, the moment, and perhaps other clients. */
static void wait_for_descriptor(lua_State *L) {
    const size_t others = lua_istable(L, 3) ? lua_rawlen(L, 3) : 0;
    struct pollfd one, *fds = others ? others_of(L, others) : &one;
    fds[0] = readable(zkl_check_client(L, 1));
    const zkl_nanos until = zkl_check_moment(L, 2);
    lua_State *main = other_main(L);
    const lua_Hook before = lua_gethook(L);
    sigset_t all, usual;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &usual);
    sigset_t blocked = usual;
    zkl_interrupt_listen(L, &blocked);
    int rc = 0;
    if (lua_gethook(L) == before && !take_hook(L, main, false)) {
        struct timespec left, *timeout = NULL;
        if (until != ZKL_NEVER) {
            const zkl_nanos now = zkl_now(), nanos = until > now ? until - now : 0;
            left = (struct timespec){nanos / ZKL_SECOND, nanos % ZKL_SECOND};
            timeout = &left;
        }
        rc = ppoll(fds, 1 + others, timeout, &blocked) < 0 ? errno : 0;
    }
    pthread_sigmask(SIG_SETMASK, &usual, NULL);
    if (rc == EINTR)
        take_hook(L, main, true);
    else if (rc)
        luaL_error(L, "waiting for the client's descriptor failed: error %d", rc);
}

int zkl_lua_wait(lua_State *L) {
    wait_for_descriptor(L);
    return 0;
}

/* If the event is the end of a hold in the table in argument `arg`, takes both. */
static bool take_end(lua_State *L, int arg, zkl_client *client, const zkl_event *event) {
    if (!lua_istable(L, arg) || event->kind != ZKL_EVENT_FAILED || event->status != ZKL_OK)
        return false;
    lua_pushnumber(L, (lua_Number)event->tag);
    lua_pushvalue(L, -1);
    lua_rawget(L, arg);
    if (lua_isnil(L, -1))
        return false;
    lua_pop(L, 1);
    lua_pushnil(L);
    lua_rawset(L, arg);
    zkl_forget(client, event->serial);
    return true;
}

int zkl_lua_await(lua_State *L) {
    enum { TAG = 4, ENDING };
    const uint64_t tag = zkl_check_tag(L, TAG);
    lua_settop(L, ENDING);
    zkl_client *client = zkl_check_client(L, 1);
    zkl_event event;
    if (zkl_client_state(client) == ZKL_STATE_FORKED) {
        lua_pushnil(L);
        lua_pushnil(L);
        lua_pushboolean(L, true);
        return 3;
    }
    bool any, taken;
    do {
        wait_for_descriptor(L);
        if (lua_gethook(L))
            return 0;
        taken = false;
        /* without an event the descriptor is not readable any more */
        while ((any = zkl_peek(client, &event)) && take_end(L, ENDING, client, &event)) {
            lua_settop(L, ENDING);
            taken = true;
        }
    } while (taken && !any);
    if (!any || event.kind != ZKL_EVENT_GRANTED || event.tag != tag)
        return 0;
    zkl_forget(client, event.serial);
    zkl_push_token(L, event.token);
    if (zkl_peek(client, &event))
        lua_pushnil(L);
    else
        lua_pushnumber(L, zkl_clock_seconds(zkl_now()));
    return 2;
}
