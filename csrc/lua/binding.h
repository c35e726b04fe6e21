/* SPDX-License-Identifier: MIT */
/* binding: declarations that the files of the Lua module share. A method checks its arguments,
 * calls the engine, and pushes the results. */
#ifndef ZKL_BINDING_H
#define ZKL_BINDING_H

#include "zklock_host.h"

#include <lauxlib.h>
#include <lua.h>
#include <signal.h>

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

#if LUA_VERSION_NUM == 501
/* One module serves LuaJIT and plain Lua 5.1, whichever headers it was built with: these functions
 * exist in LuaJIT, and are NULL in plain 5.1. */
#pragma weak lua_isyieldable
#pragma weak luaJIT_setmode
LUA_API int lua_isyieldable(lua_State *L);
LUA_API int luaJIT_setmode(lua_State *L, int index, int mode);
#define ZKL_IS_LUAJIT (luaJIT_setmode != NULL)
#else
#define ZKL_IS_LUAJIT false
#endif

/* Puts the functions into the table on top of the stack. */
void zkl_set_functions(lua_State *L, const luaL_Reg *functions);
/* A function for LuaJIT's FFI, which calls it from compiled code. No bool: LuaJIT compiles no
 * function that ends with the call of one. */
typedef struct zkl_call {
    const char *name; /* NULL: the end of a list */
    void (*call)(void);
} zkl_call;
/* Pushes a table with the functions by name, as pointers. */
void zkl_push_calls(lua_State *L, const zkl_call *calls);
/* Creates the metatable `name` with the methods as its __index; leaves nothing on the stack. Works
 * from Lua 5.1 on. */
void zkl_metatable(lua_State *L, const char *name, const luaL_Reg *methods);

/* table[field] = false */
void zkl_set_false(lua_State *L, int table, const char *field);

/* Pushes an integer where Lua has 64 bits for it, else a number, exact up to 2^53. */
void zkl_push_token(lua_State *L, int64_t token);
/* The token in argument `arg`, as such a number. */
int64_t zkl_check_token(lua_State *L, int arg);

/* Pushes a text that was stored when the module was opened: cannot fail. It is found by its
 * address. */
void zkl_push_text(lua_State *L, const char *text);
void zkl_keep_text(lua_State *L, const char *text);
/* Stores the texts of all kinds of events. */
void zkl_keep_event_texts(lua_State *L);
/* Stores the texts of all statuses. */
void zkl_keep_texts(lua_State *L);

/* Pushes nil and the text of the status: 2 results. Raises only if memory ran out. */
int zkl_push_error(lua_State *L, zkl_status status);

/* The moment in argument `arg`: seconds on the clock of core.now(); math.huge is never. */
zkl_nanos zkl_check_moment(lua_State *L, int arg);
uint64_t zkl_check_tag(lua_State *L, int arg);

/* Pushes a userdata of that metatable that holds one pointer, NULL so far: it is complete before it
 * acquires anything. */
void **zkl_new_box(lua_State *L, const char *name);

/* The box in argument `arg`, created with the same `name` (the same pointer, not an equal text);
 * otherwise it raises. It calls luaL_checkudata, which looks up two tables, only to raise. */
void **zkl_check_box(lua_State *L, int arg, const char *name);

/* Puts the object into the box, which is on top: 1 result. NULL: raises that memory ran out. */
int zkl_fill_box(lua_State *L, void **box, void *object);
/* Takes the object out of the box in argument 1; NULL: it was empty. */
void *zkl_empty_box(lua_State *L, const char *name);

#define ZKL_CLIENT zkl_client_box
extern const char zkl_client_box[];
#define ZKL_CONTENDER "zklock.contender"
#define ZKL_TICKET "zklock.ticket"
#define ZKL_QUERY "zklock.query"
#define ZKL_NOTIFIER "zklock.notifier"
#define ZKL_VISIT zkl_visit_box
extern const char zkl_visit_box[];
#define ZKL_NODE_REQUEST "zklock.node_request"
#define ZKL_NODE_WATCH "zklock.node_watch"
#define ZKL_ONCE "zklock.once"

/* The client in argument `arg`. */
zkl_client *zkl_check_client(lua_State *L, int arg);
/* The contender in argument `arg`. NULL: it was dropped, perhaps by a finalizer in this very call.
 * So call this behind the last allocation. */
zkl_contender *zkl_check_contender(lua_State *L, int arg);
/* Where that userdata stores it. NULL there: it has not joined yet, or was dropped. */
zkl_contender **zkl_contender_place(lua_State *L, int arg);

void zkl_open_client(lua_State *L);
void zkl_open_contender(lua_State *L);
void zkl_open_query(lua_State *L);
void zkl_open_node_request(lua_State *L);
void zkl_open_node_watch(lua_State *L);
void zkl_open_notifier(lua_State *L);
void zkl_open_visit(lua_State *L);
/* True if resume is known to run the coroutine. */
bool zkl_is_run_by_resume(lua_State *thread);
/* The script's hook, if there is one, waits for so many instructions of this thread. */
void zkl_delay_hook(lua_State *L, int instructions);
/* These add their functions to the table on top of the stack. */
void zkl_open_thread(lua_State *L);
void zkl_open_section(lua_State *L);
/* For a hook: true if the running code must run whole. */
bool zkl_is_in_section(lua_State *L);
void zkl_open_fifo(lua_State *L);
void zkl_open_heap(lua_State *L);
void zkl_open_often(lua_State *L);

/* Methods of a client, each in the file of its subject. */
/* client:wait(moment, others): until the client, or one of those in the table `others` (which may
 * be nil), has an event, or until the moment, or until a signal. The caller checks which. A signal
 * must get back to Lua, where its hook runs, also one that came just before the wait. */
int zkl_lua_wait(lua_State *L);
/* client:await(moment, others, tag, ending) -> as client:wait; and token, now, if the oldest event
 * is then the grant of this tag, which is taken; now: the moment, or nil if there are further
 * events. `ending`, perhaps nil: by tag, the holds that were released; if the event confirms one of
 * these releases, both are taken, and the wait goes on. While a hook is set events stay, for Lua
 * takes them without hooks. In a forked child, where nothing arrives: nil, nil, true. */
int zkl_lua_await(lua_State *L);
/* client:peek(handled) -> kind, tag, err, token, serial of the oldest event, which stays queued;
 * for "state" the state instead of the tag; nothing if there is no event. handled: the serial of
 * an event that was handled, or nil: it leaves the queue first */
int zkl_lua_peek(lua_State *L);
/* client:look(handled) -> as client:peek, but the descriptor stays as it is; nothing also inside a
 * finalizer, which may run between any two steps of ours */
int zkl_lua_look(lua_State *L);
/* client:muted(fn, ...) -> the results of fn, which takes events by client:look and cannot be
 * suspended: events make the descriptor readable only if one is left at the end */
int zkl_lua_muted(lua_State *L);
/* client:take_log() -> level, text; nothing if there is no line */
int zkl_lua_take_log(lua_State *L);
/* client:contender(waits) -> a contender that has not joined yet; and, if a call `waits` for it,
 * that call's ticket, which the call keeps until it receives the hold (csrc/lua/contender.c) */
int zkl_lua_contender(lua_State *L);
/* client:release(contender, failed) -> true, or nil; err or nil; true if other acquires of its
 * owner stand, and this was one less; and true if there is an event for client:look. failed: no
 * caller of this client takes the node over */
int zkl_lua_release(lua_State *L);
/* The three joins of a contender take the options of the lock as named fields of the table
 * `settings`: max_hold, slow, max_waiting, stint with linger, permits. A field that is missing, or
 * nil, is an option that the lock does not have; with stint the caller shares a node
 * (fair = false). `false` instead of the table: none of these options.
 *
 * client:join(contender, path, tag, moment, once, settings, name, kind, at_once, under) -> true, or
 * nil, err; or, if `at_once` is true, true and the token of a lock that it already holds, of which
 * no event comes. name: the number of the lock's name (client:name). kind: "lock", "read" or
 * "write". under, for "read": the contender of a write that the owner holds, or nil. */
int zkl_lua_join(lua_State *L);
/* client:join_all(contender, paths, tag, moment, once, settings, name) -> true, or nil, err; the
 * strings stay in the table */
int zkl_lua_join_all(lua_State *L);
/* client:join_leases(contender, path, tag, moment, once, settings, name, count) -> true, or nil,
 * err */
int zkl_lua_join_leases(lua_State *L);
/* client:ask_session(tag, moment) -> query, answered once there is a session */
int zkl_lua_ask_session(lua_State *L);
/* client:ask_flush(tag, moment) -> query, answered once every release so far is confirmed */
int zkl_lua_ask_flush(lua_State *L);
/* client:ask_participants(path, leases, tag, moment, once) -> query; after its answer
 * query:participants() */
int zkl_lua_ask_participants(lua_State *L);
/* client:ask_revoke(path, leases, tag, moment, once) -> query; after its answer query:revoked() */
int zkl_lua_ask_revoke(lua_State *L);
/* client:ask_check(path, token, tag, moment, once) -> query: the answer is the result */
int zkl_lua_ask_check(lua_State *L);
/* client:notifier() -> notifier, or nil and the reason */
int zkl_lua_notifier(lua_State *L);
/* core.bell() -> a notifier that only rings, or nil and the reason */
int zkl_lua_bell(lua_State *L);
/* client:visit(tag) -> visit */
int zkl_lua_visit(lua_State *L);
/* client:perform(op, tag, moment, once) -> node request; an op is a list: kind (a number), path,
 * data, version, flags ("escp" for ephemeral, sequential, container, parents), acl (a number); the
 * last four may be nil */
int zkl_lua_do(lua_State *L);
/* client:perform_all(ops, tag, moment, once, contender) -> node request, or nil, err; contender:
 * must hold, or nil */
int zkl_lua_do_all(lua_State *L);
/* client:ask_sync(tag, moment, once) -> node request */
int zkl_lua_sync(lua_State *L);
/* client:look_at(path, children, tag) -> node watch, or nil, err */
int zkl_lua_look_at(lua_State *L);
/* client:ask_once(contender, seconds, mark, tag, moment) -> once, or nil, err; after its answer
 * once:left().
 * mark: true also writes the mark if it is due */
int zkl_lua_ask_once(lua_State *L);
/* client:mark_once(contender, tag, moment) -> once, or nil, err: writes the mark */
int zkl_lua_mark_once(lua_State *L);
void zkl_push_stat(lua_State *L, const zkl_stat *stat);
/* Pushes them as a list. */
void zkl_push_names(lua_State *L, const zkl_content *of);
/* Pushes the id in the format of ZooKeeper's own tools. */
void zkl_push_session(lua_State *L, int64_t session);

/* client:stats() -> the table of docs/api.md */
int zkl_lua_stats(lua_State *L);
/* client:name(name) -> the number of the name, for joins; 0 in a forked child */
int zkl_lua_name(lua_State *L);
/* client:count(number, err, seconds): an acquire through a lock with that name has ended with that
 * error, after so many seconds, before its caller could join */
int zkl_lua_count(lua_State *L);
int zkl_lua_count_run(lua_State *L);
/* client:measure() -> the counts by the names of locks, and more (lua/zklock/metrics/snapshot.lua);
 * nil in a forked child */
int zkl_lua_measure(lua_State *L);
int zkl_lua_connect(lua_State *L);
/* core.visit_calls() -> functions on a visit; core.relay_calls() -> functions on a contender, and a
 * `state` for their first argument. Their types are in lua/zklock/openresty/visits.lua. */
int zkl_lua_visit_calls(lua_State *L);
int zkl_lua_relay_calls(lua_State *L);
/* core.spare_handlers(address, offset): for nginx. `address` is that of the variable with the first
 * header filter, `offset` that of a request's slot for a handler. While a request sends a header, a
 * slot with a visit's handler contains the former handler. */
int zkl_lua_spare_handlers(lua_State *L);
/* core.interrupt_on(name) -> true; nothing if this is not the main program */
int zkl_lua_interrupt_on(lua_State *L);

/* The caller, which has blocked all signals, waits. This removes the signals of this state from the
 * blocked set, even if the host has blocked them in this thread. A signal that another thread got
 * while no such thread waited sets the hook. Does not raise. */
void zkl_interrupt_listen(lua_State *L, sigset_t *blocked);

#endif
