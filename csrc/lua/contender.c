/* SPDX-License-Identifier: MIT */
/* contender: the userdata around a zkl_contender. When the collector takes it, it ends the hold or
 * the wait.
 *
 * A call that waits has a ticket for its contender, which only its own variables refer to. If an
 * error ends the call before it has received the hold, the collector takes the ticket, and that
 * ends the hold, too. */
#include "binding.h"

typedef struct ticket ticket;

/* The userdata. */
typedef struct entry {
    zkl_contender *contender; /* NULL: it has not joined yet, or was dropped */
    const char *mark;         /* this file's address: no other userdata has it */
    /* if its owner is the main program: that state, once it has called */
    const lua_State *main;
    unsigned count; /* while held: how many acquires its owner has made */
    bool pinned;    /* other code refers to this hold: it must not become another one */
    bool by_resume; /* its owner has taken it over, and is a coroutine that resume runs */
    ticket *ticket; /* NULL: no call has one, or it has received the hold */
    bool forsaken;  /* the collector has taken the ticket */
} entry;

struct ticket {
    entry *entry; /* NULL: the contender was collected, or the call has received the hold */
};

static const char mark = 'c';

static void new_contender(lua_State *L) {
    entry *e = lua_newuserdata(L, sizeof *e);
    *e = (entry){.mark = &mark, .count = 1};
    luaL_getmetatable(L, ZKL_CONTENDER);
    lua_setmetatable(L, -2);
}

/* NULL: not a contender. */
static entry *entry_at(lua_State *L, int arg) {
    entry *e = lua_touserdata(L, arg);
    return e && lua_rawlen(L, arg) == sizeof *e && e->mark == &mark ? e : NULL;
}

static entry *check_entry_at(lua_State *L, int arg) {
    entry *e = entry_at(L, arg);
    return e ? e : luaL_checkudata(L, arg, ZKL_CONTENDER);
}

static entry *check_entry(lua_State *L) {
    return check_entry_at(L, 1);
}

zkl_contender **zkl_contender_place(lua_State *L, int arg) {
    return &check_entry_at(L, arg)->contender;
}

zkl_contender *zkl_check_contender(lua_State *L, int arg) {
    return *zkl_contender_place(L, arg);
}

static zkl_contender *check(lua_State *L) {
    return zkl_check_contender(L, 1);
}

static void drop(entry *e) {
    zkl_contender *contender = e->contender;
    e->contender = NULL;
    if (contender)
        zkl_drop(contender);
}

static int contender_drop(lua_State *L) {
    drop(check_entry(L));
    return 0;
}

/* From now on the collector may take the ticket. */
static void tear(entry *e) {
    if (e->ticket)
        e->ticket->entry = NULL;
    e->ticket = NULL;
}

static int contender_collected(lua_State *L) {
    tear(check_entry(L));
    return contender_drop(L);
}

/* The call with the ticket does not receive the hold. false: other calls have received it, and it
 * goes on. true: it is to end, and nothing has changed yet. */
static bool forgo(entry *e) {
    if (e->count <= 1)
        return true;
    tear(e);
    e->count--;
    return false;
}

static int ticket_collected(lua_State *L) {
    const ticket *of = luaL_checkudata(L, 1, ZKL_TICKET);
    entry *e = of->entry;
    if (!e || !forgo(e))
        return 0;
    tear(e);
    e->forsaken = true;
    drop(e);
    return 0;
}

/* Pushes a ticket for the contender at the top, whose acquire is counted already. */
static void push_ticket(lua_State *L) {
    entry *e = entry_at(L, -1);
    ticket *new = lua_newuserdata(L, sizeof *new);
    *new = (ticket){NULL};
    luaL_getmetatable(L, ZKL_TICKET);
    lua_setmetatable(L, -2);
    new->entry = e;
    e->ticket = new;
}

int zkl_lua_contender(lua_State *L) {
    zkl_check_client(L, 1);
    const bool waits = lua_toboolean(L, 2);
    new_contender(L);
    if (waits)
        push_ticket(L);
    return waits ? 2 : 1;
}

/* contender:receive(ticket) -> true: the call with the ticket receives the hold; or, without a
 * ticket, one more call, which this counts. false: it was dropped */
static int contender_receive(lua_State *L) {
    entry *e = check_entry(L);
    lua_pushboolean(L, e->contender != NULL);
    if (!e->contender)
        return 1;
    if (lua_isuserdata(L, 2)) {
        tear(e);
        lua_pushnil(L);
        lua_setmetatable(L, 2); /* a finalizer would find nothing to do */
    } else {
        e->count++;
    }
    return 1;
}

/* contender:awaits() -> true if the call with the ticket has not received it */
static int contender_awaits(lua_State *L) {
    lua_pushboolean(L, check_entry(L)->ticket != NULL);
    return 1;
}

/* contender:forgo() -> false: other calls have received it, and only that of the ticket does not;
 * true: it is to end */
static int contender_forgo(lua_State *L) {
    lua_pushboolean(L, forgo(check_entry(L)));
    return 1;
}

/* contender:forsaken() -> true if the collector took its ticket, and no call has received it */
static int contender_forsaken(lua_State *L) {
    lua_pushboolean(L, check_entry(L)->forsaken);
    return 1;
}

/* Counts one of several acquires less. false: it is the last one, or it is lost, or max_hold has
 * passed. */
static bool release_inner(entry *e, zkl_status *answer) {
    if (e->count <= 1 || !e->contender || !zkl_held(e->contender))
        return false;
    *answer = zkl_would_release(e->contender);
    if (*answer == ZKL_LOST)
        return false;
    e->count--;
    return true;
}

static zkl_status release_last(entry *e, bool failed) {
    if (!e->contender)
        return ZKL_NOT_OWNER;
    return failed ? zkl_give_up(e->contender) : zkl_release(e->contender);
}

int zkl_lua_release(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    entry *e = check_entry_at(L, 2);
    zkl_status status = ZKL_LOST;
    const bool inner = release_inner(e, &status);
    if (!inner)
        status = release_last(e, lua_toboolean(L, 3));
    if (status == ZKL_OK) {
        lua_pushboolean(L, 1);
        lua_pushnil(L);
    } else {
        zkl_push_error(L, status);
    }
    lua_pushboolean(L, inner);
    zkl_event event;
    lua_pushboolean(L, zkl_look(client, &event));
    return 4;
}

/* contender:extend(seconds) -> true if it has waited for somebody, else false; or nil, err: its
 * hold ends so many seconds from now */
static int contender_extend(lua_State *L) {
    zkl_contender *contender = check(L);
    const zkl_nanos max_hold = zkl_clock_duration(luaL_checknumber(L, 2));
    const zkl_status status = contender ? zkl_extend(contender, max_hold) : ZKL_NOT_OWNER;
    if (status != ZKL_OK)
        return zkl_push_error(L, status);
    lua_pushboolean(L, zkl_waited(contender));
    return 1;
}

/* contender:quit(): ends the wait or the hold, and drops the contender; does not count as
 * abandoned */
static int contender_quit(lua_State *L) {
    zkl_contender *contender = check(L);
    if (contender) {
        zkl_cancel(contender);
        zkl_give_up(contender);
    }
    return contender_drop(L);
}

/* contender:cancel(): ends the wait. If it was granted, and its owner has not received it yet, this
 * gives it back, also to a caller of this client: nobody has worked under it. The event GRANTED
 * stays queued. */
static int contender_cancel(lua_State *L) {
    zkl_contender *contender = check(L);
    if (contender) {
        zkl_cancel(contender);
        zkl_release(contender);
    }
    return 0;
}

static int contender_held(lua_State *L) {
    zkl_contender *contender = check(L);
    lua_pushboolean(L, contender && zkl_held(contender));
    return 1;
}

/* contender:turn() -> the number of its grant on its shared node; 0 without one; nil if it does not
 * hold */
static int contender_turn(lua_State *L) {
    zkl_contender *contender = check(L);
    uint64_t turn;
    if (contender && zkl_turn(contender, &turn))
        lua_pushinteger(L, (lua_Integer)turn);
    else
        lua_pushnil(L);
    return 1;
}

static int contender_validity(lua_State *L) {
    zkl_contender *contender = check(L);
    lua_pushnumber(L, contender ? zkl_validity(contender) : 0);
    return 1;
}

/* contender:since() -> seconds since it began to wait, or since it was granted; 0 if neither */
static int contender_since(lua_State *L) {
    zkl_contender *contender = check(L);
    lua_pushnumber(L, contender ? zkl_since(contender) : 0);
    return 1;
}

/* contender:given_back() -> true if it was held and released, and not taken again the short way */
static int contender_given_back(lua_State *L) {
    zkl_contender *contender = check(L);
    lua_pushboolean(L, contender && zkl_given_back(contender));
    return 1;
}

/* contender:pin(): its hold cannot be released the short way */
static int contender_pin(lua_State *L) {
    check_entry(L)->pinned = true;
    return 0;
}

/* contender:count() -> how many acquires its owner has made, while it is held */
static int contender_count(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)check_entry(L)->count);
    return 1;
}

/* contender:add(difference): changes that count */
static int contender_add(lua_State *L) {
    entry *e = check_entry(L);
    e->count += (unsigned)luaL_checkinteger(L, 2);
    return 0;
}

/* contender:by_resume() -> true if its owner has taken it over, and is a coroutine that resume is
 * known to run */
static int contender_by_resume(lua_State *L) {
    lua_pushboolean(L, check_entry(L)->by_resume);
    return 1;
}

/* contender:ask_validity(tag, moment) -> query, answered once validity is above 0; or nil, err */
static int contender_ask_validity(lua_State *L) {
    const uint64_t tag = zkl_check_tag(L, 2);
    const zkl_nanos deadline = zkl_check_moment(L, 3);
    void **box = zkl_new_box(L, ZKL_QUERY);
    zkl_contender *contender = check(L);
    if (!contender)
        return zkl_push_error(L, ZKL_LOST);
    return zkl_fill_box(L, box, zkl_query_validity(contender, tag, deadline));
}

/* contender:nodes() -> list of full paths without the chroot; empty if it does not hold */
static int contender_nodes(lua_State *L) {
    const entry *e = check_entry(L);
    char path[ZKL_NODE_PATH];
    lua_newtable(L);
    /* each allocation may run a finalizer that drops it */
    for (int i = 0; e->contender && zkl_node_at(e->contender, (size_t)i, path, sizeof path); i++) {
        lua_pushstring(L, path);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* contender:front() -> the name of the next node in front, or nil: there is none, or it waits for a
 * lease; how many there are; true if that one is this client's own; the holder's data, or "".
 * Nothing: not known */
static int contender_front(lua_State *L) {
    zkl_contender *contender = check(L);
    zkl_front front = ZKL_FRONT_DEFAULTS;
    if (!contender || !zkl_front_of(contender, &front) || front.of == 0) /* 0: it has failed */
        return 0;
    if (front.next[0])
        lua_pushstring(L, front.next);
    else
        lua_pushnil(L);
    lua_pushinteger(L, (lua_Integer)front.ahead);
    lua_pushboolean(L, front.own);
    lua_pushstring(L, front.holder);
    return 4;
}

/* contender:why() -> a line about its wait; nothing: it does not wait */
static int contender_why(lua_State *L) {
    zkl_contender *contender = check(L);
    char text[ZKL_WHY_TEXT];
    if (!contender || !zkl_why(contender, text, sizeof text))
        return 0;
    lua_pushstring(L, text);
    return 1;
}

/* contender:shortage() -> after "too big": why there was no room for its nodes; nothing: there was
 * another reason */
static int contender_shortage(lua_State *L) {
    zkl_contender *contender = check(L);
    char text[ZKL_SHORTAGE_TEXT];
    if (!contender || !zkl_shortage_text(contender, text, sizeof text))
        return 0;
    lua_pushstring(L, text);
    return 1;
}

/* ---- frequent calls: they take no lock and allocate nothing ---- */

/* True if the owner of `e` runs now. If that is the main program, it is known at once from then on.
 * Argument `arg` is a reference to the owner: a table with it, or with the table that stands for
 * the main program; or true: Lua has found the owner already. */
static bool recognise(lua_State *L, entry *e, int arg) {
    if (e->main == L)
        return true;
    if (!lua_istable(L, arg))
        return lua_toboolean(L, arg);
    lua_rawgeti(L, arg, 1);
    const lua_State *thread = lua_tothread(L, -1);
    if (thread)
        return thread == L;
    if (!lua_istable(L, -1) || !lua_pushthread(L))
        return false;
    e->main = L; /* L lives as long as everything in that state */
    return true;
}

/* Argument 1, if its owner runs. NULL: the caller takes the slow path; also while a hook is set,
 * which might raise after the count and before the return. */
static entry *entry_here(lua_State *L, int owner) {
    entry *e = entry_at(L, 1);
    return e && e->contender && recognise(L, e, owner) && !lua_gethook(L) ? e : NULL;
}

/* Accepts every timeout that a wait may have. */
static bool is_timeout(lua_State *L, int arg) {
    const int type = lua_type(L, arg);
    return type <= LUA_TNIL || (type == LUA_TNUMBER && lua_tonumber(L, arg) >= 0);
}

/* If it is held with validity left: counts one more acquire. Otherwise 0. */
static int64_t count_more(lua_State *L, entry *e) {
    const int64_t token = zkl_validity(e->contender) > 0 ? zkl_token(e->contender) : 0;
    if (!token || lua_gethook(L)) /* lost since then; or a signal has set a hook */
        return 0;
    e->count++;
    return token;
}

/* core.again(contender, timeout, owner) -> token: its owner runs and holds it with validity left,
 * and this counts one more acquire. Nothing: the slow path decides, also about an invalid
 * timeout */
static int entry_again(lua_State *L) {
    entry *e = is_timeout(L, 2) ? entry_here(L, 3) : NULL;
    const int64_t token = e ? count_more(L, e) : 0;
    if (!token)
        return 0;
    zkl_push_token(L, token);
    return 1;
}

/* It rests (core.once_less), and its caller, another one perhaps, holds it from now on. */
static bool take_over(lua_State *L, entry *e, bool by_resume) {
    if (!e->contender || e->pinned || e->count != 1 || lua_gethook(L) ||
        !zkl_take_again(e->contender))
        return false;
    e->main = NULL;
    e->by_resume = by_resume;
    e->count = 0; /* its caller receives it by count_more: a signal may raise until then */
    return true;
}

/* Pushes the running coroutine, or `main` if that is the main one. */
static void push_runner(lua_State *L, entry *e, int main) {
    if (!lua_pushthread(L))
        return;
    lua_pop(L, 1);
    lua_pushvalue(L, main);
    e->main = L;
}

/* core.take_over(contender, timeout, whose, main) -> token: it rests, and the caller holds it from
 * now on. `whose` is a table whose first field is its owner: this stores the running coroutine
 * there, or `main`. Nothing: the slow path decides, also about an invalid timeout */
static int entry_take_over(lua_State *L) {
    enum { TIMEOUT = 2, WHOSE, MAIN };
    entry *e = is_timeout(L, TIMEOUT) ? entry_at(L, 1) : NULL;
    luaL_checktype(L, WHOSE, LUA_TTABLE);
    const bool by_resume = zkl_is_run_by_resume(L); /* may raise, for want of memory */
    if (!e || !take_over(L, e, by_resume))
        return 0;
    push_runner(L, e, MAIN);
    lua_rawseti(L, WHOSE, 1); /* allocates nothing: the field is in the table's array */
    const int64_t token = zkl_token(e->contender);
    if (!token) /* it was lost at this moment */
        return 0;
    zkl_push_token(L, token);
    return 1;
}

/* Its owner has made one acquire, and gives it back. A ticket would end the next owner's hold. */
static bool rest(entry *e) {
    if (e->count != 1 || e->pinned || e->ticket || !zkl_rest(e->contender))
        return false;
    e->by_resume = false;
    return true;
}

/* core.once_less(contender, owner, rests) -> true: its owner runs and holds it with validity left,
 * and this counts one acquire less. Or this was the last one, and the hold rests; if Lua had to
 * find the owner (true), only if `rests` is true. false: its owner runs and holds it, and this is
 * the last acquire, which the engine has to release. Nothing: the slow path decides */
static int entry_once_less(lua_State *L) {
    entry *e = entry_here(L, 2);
    bool done = true;
    if (!e)
        return 0;
    if (e->count > 1 && zkl_validity(e->contender) > 0)
        e->count--;
    else if ((lua_istable(L, 2) || lua_toboolean(L, 3)) && rest(e))
        done = true;
    else if (e->count == 1 && zkl_held(e->contender))
        done = false;
    else
        return 0;
    lua_pushboolean(L, done);
    return 1;
}

/* core.standing(contender, owner) -> token, seconds of validity, if its owner runs and holds it;
 * nothing: the slow path decides */
static int entry_standing(lua_State *L) {
    const entry *e = entry_here(L, 2);
    const int64_t token = e ? zkl_token(e->contender) : 0;
    if (!token)
        return 0;
    zkl_push_token(L, token);
    lua_pushnumber(L, zkl_validity(e->contender));
    return 2;
}

/* ---- the same for LuaJIT's FFI, which passes the userdata as a pointer: Lua has found the owner,
 * and has checked the timeout ---- */

static int take_over_here(lua_State *L, entry *e) {
    return take_over(L, e, false);
}

/* The token, or 0. */
static double again_here(lua_State *L, entry *e) {
    return e->contender ? (double)count_more(L, e) : 0;
}

static int rest_here(lua_State *L, entry *e) {
    return e->contender && !lua_gethook(L) && rest(e);
}

static const char state_key = 's';

/* A thread for questions about the state: the caller may be a coroutine that ends. */
static lua_State *any_thread(lua_State *L) {
    lua_pushlightuserdata(L, (void *)&state_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_State *any = lua_tothread(L, -1);
    lua_pop(L, 1);
    if (any)
        return any;
    lua_pushlightuserdata(L, (void *)&state_key);
    any = lua_newthread(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
    return any;
}

int zkl_lua_relay_calls(lua_State *L) {
    static const zkl_call calls[] = {
        {"take_over", (void (*)(void))take_over_here},
        {"again", (void (*)(void))again_here},
        {"rest", (void (*)(void))rest_here},
        {NULL, NULL},
    };
    zkl_push_calls(L, calls);
    lua_pushlightuserdata(L, any_thread(L));
    lua_setfield(L, -2, "state");
    return 1;
}

void zkl_open_often(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"again", entry_again},
        {"take_over", entry_take_over},
        {"once_less", entry_once_less},
        {"standing", entry_standing},
        {NULL, NULL},
    };
    zkl_set_functions(L, functions);
}

void zkl_open_contender(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"__gc", contender_collected},
        {"drop", contender_drop},
        {"receive", contender_receive},
        {"awaits", contender_awaits},
        {"forgo", contender_forgo},
        {"forsaken", contender_forsaken},
        {"extend", contender_extend},
        {"quit", contender_quit},
        {"cancel", contender_cancel},
        {"held", contender_held},
        {"turn", contender_turn},
        {"validity", contender_validity},
        {"since", contender_since},
        {"given_back", contender_given_back},
        {"pin", contender_pin},
        {"count", contender_count},
        {"add", contender_add},
        {"by_resume", contender_by_resume},
        {"ask_validity", contender_ask_validity},
        {"nodes", contender_nodes},
        {"front", contender_front},
        {"why", contender_why},
        {"shortage", contender_shortage},
        {NULL, NULL},
    };
    static const luaL_Reg of_tickets[] = {{"__gc", ticket_collected}, {NULL, NULL}};
    zkl_metatable(L, ZKL_CONTENDER, methods);
    zkl_metatable(L, ZKL_TICKET, of_tickets);
}
