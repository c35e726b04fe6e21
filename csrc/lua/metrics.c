/* SPDX-License-Identifier: MIT */
/* metrics: pushes what a client counts. */
#include "binding.h"

#include <string.h>

static void set_count(lua_State *L, const char *name, uint64_t count) {
    lua_pushinteger(L, (lua_Integer)count);
    lua_setfield(L, -2, name);
}

static void set_number(lua_State *L, const char *name, double number) {
    lua_pushnumber(L, number);
    lua_setfield(L, -2, name);
}

static void set_counters(lua_State *L, const zkl_stats *s) {
    const struct {
        const char *name;
        uint64_t count;
    } fields[] = {
        {"acquired", s->acquired},     {"released", s->released},
        {"timeouts", s->timeouts},     {"lost", s->lost},
        {"revoked", s->revoked},       {"abandoned", s->abandoned},
        {"sessions", s->sessions},     {"requests_sent", s->requests_sent},
        {"waiting", s->waiting},       {"held", s->held},
        {"unwatched", s->unwatched},   {"handed", s->handed},
        {"guarded", s->guarded},       {"watches", s->watches},
        {"node_bytes", s->node_bytes},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        set_count(L, fields[i].name, fields[i].count);
    set_number(L, "latency", s->latency);
}

static void set_runs(lua_State *L, const uint64_t *runs) {
    lua_createtable(L, 0, ZKL_RUN_END);
    for (int i = 0; i < ZKL_RUN_END; i++)
        set_count(L, zkl_run_text((zkl_run)i), runs[i]);
    lua_setfield(L, -2, "runs");
}

/* { count =, sum =, buckets = { { bound, how many up to that }, ... } } */
static void set_cumulative(lua_State *L, const char *name, const zkl_histogram *histogram) {
    uint64_t count = 0;
    lua_newtable(L);
    lua_createtable(L, ZKL_BUCKETS, 0);
    for (int i = 0; i < ZKL_BUCKETS; i++) {
        count += histogram->buckets[i];
        lua_createtable(L, 2, 0);
        lua_pushnumber(L, zkl_bound((size_t)i));
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, (lua_Integer)count);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "buckets");
    set_count(L, "count", count);
    set_number(L, "sum", histogram->sum);
    lua_setfield(L, -2, name);
}

int zkl_lua_stats(lua_State *L) {
    zkl_stats stats = ZKL_STATS_DEFAULTS;
    zkl_client_stats(zkl_check_client(L, 1), &stats);
    lua_newtable(L);
    set_counters(L, &stats);
    set_runs(L, stats.runs);
    set_cumulative(L, "wait", &stats.wait);
    set_cumulative(L, "hold", &stats.hold);
    set_cumulative(L, "heartbeat", &stats.heartbeat);
    return 1;
}

int zkl_lua_name(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    unsigned number = 0;
    const zkl_status status = zkl_name(client, luaL_checkstring(L, 2), &number);
    if (status == ZKL_NO_MEMORY)
        return zkl_push_error(L, status);
    lua_pushinteger(L, (lua_Integer)number);
    return 1;
}

int zkl_lua_count(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    const unsigned number = (unsigned)luaL_checkinteger(L, 2);
    const char *err = luaL_checkstring(L, 3);
    const zkl_nanos wait = zkl_check_moment(L, 4);
    zkl_status status = ZKL_STATUS_LAST;
    while (status > ZKL_OK && strcmp(zkl_status_text(status), err) != 0)
        status--;
    zkl_count(client, number, status, wait); /* ZKL_OK: another error */
    return 0;
}

int zkl_lua_count_run(lua_State *L) {
    static const char *const names[] = {"ran", "skipped", "failed", NULL};
    zkl_client *client = zkl_check_client(L, 1);
    const unsigned number = (unsigned)luaL_checkinteger(L, 2);
    zkl_count_run(client, number, (zkl_run)luaL_checkoption(L, 3, NULL, names));
    return 0;
}

/* { sum =, [1] =, ... [16] = }: each bucket without those before it */
static void set_histogram(lua_State *L, const char *name, const zkl_histogram *histogram) {
    lua_createtable(L, ZKL_BUCKETS, 1);
    for (int i = 0; i < ZKL_BUCKETS; i++) {
        lua_pushinteger(L, (lua_Integer)histogram->buckets[i]);
        lua_rawseti(L, -2, i + 1);
    }
    set_number(L, "sum", histogram->sum);
    lua_setfield(L, -2, name);
}

static void push_counts(lua_State *L, const zkl_counts *counts) {
    lua_newtable(L);
    lua_pushstring(L, counts->name);
    lua_setfield(L, -2, "name");
    set_count(L, "serial", counts->serial);
    set_count(L, "waiting", counts->waiting);
    set_count(L, "held", counts->held);
    set_count(L, "standing_by", counts->standing_by);
    set_number(L, "oldest_wait", counts->oldest_wait);
    set_number(L, "oldest_hold", counts->oldest_hold);
    set_runs(L, counts->runs);
    if (counts->last_run > 0)
        set_number(L, "last_run", counts->last_run);
    lua_newtable(L);
    for (int i = 0; i < ZKL_RESULT_END; i++)
        set_count(L, zkl_result_text((zkl_result)i), counts->ended[i]);
    lua_setfield(L, -2, "ended");
    lua_newtable(L);
    for (int i = ZKL_LOSS_NONE + 1; i < ZKL_LOSS_END; i++)
        set_count(L, zkl_loss_text((zkl_loss)i), counts->lost[i]);
    lua_setfield(L, -2, "lost");
    set_histogram(L, "wait", &counts->wait);
    set_histogram(L, "hold", &counts->hold);
}

int zkl_lua_measure(lua_State *L) {
    zkl_client *client = zkl_check_client(L, 1);
    zkl_counts *counts = lua_newuserdata(L, ZKL_COUNTS_MOST * sizeof *counts);
    zkl_measures measures = ZKL_MEASURES_DEFAULTS;
    zkl_stats stats = ZKL_STATS_DEFAULTS;
    counts->size = sizeof *counts;
    if (zkl_client_measure(client, &measures, &stats, counts, ZKL_COUNTS_MOST) != ZKL_OK)
        return 0;
    lua_newtable(L);
    set_counters(L, &stats);
    set_histogram(L, "heartbeat", &stats.heartbeat);
    set_number(L, "validity", measures.validity);
    lua_createtable(L, (int)measures.count, 0);
    for (size_t i = 0; i < measures.count; i++) {
        push_counts(L, &counts[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "counts");
    return 1;
}
