/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include "line/contender.h"
#include "shared/sharer.h"
#include "tree.h"

#include <inttypes.h>

static struct {
    FILE *file;
    bool is_open; /* a history has begun */
    uint64_t lines;
} journal;

/* ---- lines ---- */

/* A line without its end, which the caller writes. */
static void begin_line(const char *event) {
    journal.lines++;
    fprintf(journal.file, "{\"event\":\"%s\"", event);
}

static void put_number(const char *field, int64_t value) {
    fprintf(journal.file, ",\"%s\":%" PRId64, field, value);
}

static void put_text(const char *field, const char *text) {
    fprintf(journal.file, ",\"%s\":\"%s\"", field, text); /* no text of ours needs an escape */
}

static void end_line(void) {
    fputs("}\n", journal.file);
}

static void put_process(const sim_host *host) {
    fprintf(journal.file, ",\"process\":\"h%d.%u\"", host->machine.id, host->opened);
}

static void begin_call(const char *event, const sim_caller *c) {
    begin_line(event);
    put_process(c->host);
    put_number("call", (int64_t)c->tag);
}

static void put_call_at(const char *event, const sim_caller *c) {
    if (!journal.is_open)
        return;
    begin_call(event, c);
    put_number("at", sim_now);
    end_line();
}

/* ---- calls ---- */

static void put_answer(const sim_caller *c, int place) {
    static const char *const kinds[ZKL_KINDS] = {"", "mutex", "read", "write", "semaphore"};
    begin_call("acquire", c);
    put_text("path", sim_place_path((sim_place)place));
    put_text("kind", kinds[c->kind]);
    if (c->kind == ZKL_KIND_LEASE) {
        put_number("count", c->leases);
        put_number("permits", PERMITS);
    }
    put_number("invoke", c->called);
    put_number("return", sim_now);
    put_text("outcome", c->is_granted ? "granted" : zkl_status_text(c->status));
    if (c->is_granted) {
        put_number("token", c->token);
        put_number("turn", (int64_t)zkl_sharer_turn(c->contender));
    }
    if (c->is_under)
        put_number("under", (int64_t)c->write);
    end_line();
}

/* Of several leases together an operator may delete any. */
static void put_leases(const sim_caller *c) {
    const zkl_contender *part;
    for (size_t i = 0; (part = c->contender->call->part(c->contender, i)); i++) {
        if (part->token == c->token)
            continue;
        begin_call("node", c);
        put_number("token", part->token);
        end_line();
    }
}

void sim_journal_answered(const sim_caller *c) {
    for (int place = 0; journal.is_open && place < sim_places(); place++)
        if (c->places >> place & 1)
            put_answer(c, place);
    if (journal.is_open && c->kind == ZKL_KIND_LEASE && c->contender->phase == ZKL_HELD)
        put_leases(c);
}

/* In the world's time: the host's clock may be slow. */
void sim_journal_sure(const sim_caller *c) {
    if (!journal.is_open || c->contender->phase != ZKL_HELD)
        return;
    const sim_machine *machine = &c->host->machine;
    const zkl_nanos left = zkl_contender_valid_until(c->contender) - sim_clock(machine);
    if (left <= 0)
        return;
    begin_call("sure", c);
    put_number("from", sim_now);
    put_number("until", sim_now + (zkl_nanos)((double)left * 1e6 / (1e6 + machine->drift)));
    end_line();
}

void sim_journal_released(const sim_caller *c, zkl_status status) {
    if (!journal.is_open)
        return;
    begin_call("release", c);
    put_number("invoke", sim_now);
    put_number("return", sim_now);
    put_text("outcome", status == ZKL_OK ? "ok" : zkl_status_text(status));
    end_line();
}

void sim_journal_confirmed(const sim_caller *c) {
    put_call_at("confirmed", c);
}

void sim_journal_lost(const sim_caller *c) {
    put_call_at("lost", c);
}

void sim_journal_dropped(const sim_caller *c) {
    if (c->is_granted && !c->is_released)
        put_call_at("drop", c);
}

/* ---- operators ---- */

static void put_taken(const sim_host *host, zkl_nanos from, const char *field, int64_t zxid) {
    if (!journal.is_open)
        return;
    begin_line("taken");
    put_process(host);
    put_number("from", from);
    put_number(field, zxid);
    end_line();
}

void sim_journal_taken(const sim_host *host, int64_t token) {
    put_taken(host, sim_now, "token", token);
}

void sim_journal_ended(const sim_host *host, zkl_nanos since) {
    put_taken(host, since, "upto", sim_tree->zxid);
}

/* ---- histories ---- */

void sim_journal_to(FILE *file) {
    journal.file = file;
    sim_failing = sim_journal_end;
}

void sim_journal_begin(uint64_t seed) {
    if (!journal.file)
        return;
    journal.is_open = true;
    journal.lines = 0;
    begin_line("run");
    put_text("source", "simulation");
    fprintf(journal.file, ",\"seed\":%" PRIu64, seed);
    end_line();
}

void sim_journal_end(void) {
    if (!journal.is_open)
        return;
    begin_line("end");
    put_number("lines", (int64_t)journal.lines);
    end_line();
    journal.is_open = false;
    if (fflush(journal.file) != 0)
        sim_fail("the history cannot be written");
}
