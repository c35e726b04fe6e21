/* SPDX-License-Identifier: MIT */
#include "ledger.h"

#include "ensemble.h"
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOT SIM_ROOT "/notes"

static const char *const paths[NOTES] = {
    [NOTE_ROOT] = ROOT,
    [NOTE_FLAG] = ROOT "/flag",
    [NOTE_COUNT + PLACE_A] = ROOT "/a",
    [NOTE_COUNT + PLACE_B] = ROOT "/b",
    [NOTE_COUNT + PLACE_SHARED] = ROOT "/shared",
};

typedef struct record {
    sim_intent intent;
    unsigned deleted_by; /* the serial number of the write that is to delete what this one made */
    bool is_handed, is_told;
    bool is_settled;  /* a read behind it was answered when it was not done */
    unsigned unknown; /* since when nobody knows what became of it; 0: it is not unknown */
    zkl_status status;
    int64_t done; /* 0: it was not */
} record;

/* A state in which a note could be seen, from `zxid` on. */
typedef struct state {
    int64_t zxid;
    int64_t czxid; /* 0: there is none */
    int64_t mzxid, pzxid;
} state;

static struct {
    record *records; /* by serial number, from 1 */
    size_t record_count, record_room;
    state *states[NOTES];
    size_t state_count[NOTES], state_room[NOTES];
    uint64_t counts[PLACES];
    unsigned moments; /* of reads that began and writes that became unknown */
} ledger;

const char *sim_note_path(sim_note note) {
    return paths[note];
}

/* ---- writes ---- */

static record *record_of(unsigned serial) {
    SIM_CHECK(serial > 0 && serial < ledger.record_count);
    return &ledger.records[serial];
}

unsigned sim_ledger_intend(const sim_intent *intent) {
    if (ledger.record_count >= ledger.record_room) {
        ledger.record_room = ledger.record_room ? 2 * ledger.record_room : 256;
        ledger.records = realloc(ledger.records, ledger.record_room * sizeof *ledger.records);
        SIM_CHECK(ledger.records != NULL);
    }
    ledger.record_count += ledger.record_count == 0; /* there is no write 0 */
    ledger.records[ledger.record_count] = (record){.intent = *intent};
    return (unsigned)ledger.record_count++;
}

void sim_ledger_intend_delete(unsigned made_by, unsigned serial) {
    record_of(made_by)->deleted_by = serial;
}

static const char *text_of(unsigned serial) {
    static char text[64];
    snprintf(text, sizeof text, "host %d's write %u", record_of(serial)->intent.host->machine.id,
             serial);
    return text;
}

/* Done, unknown, or else not done. */
static void check_told(unsigned serial) {
    const record *r = record_of(serial);
    if (!r->is_told)
        return;
    if (r->done && r->status != ZKL_OK && r->status != ZKL_UNKNOWN)
        sim_fail("%s was told '%s', and is done", text_of(serial), zkl_status_text(r->status));
    if (!r->done && r->status == ZKL_OK)
        sim_fail("%s was told that it is done, and it is not", text_of(serial));
    if (!r->is_handed && r->status == ZKL_UNKNOWN)
        sim_fail("%s was told that nobody knows, and it was never sent", text_of(serial));
}

int64_t sim_ledger_told(unsigned serial, zkl_status status) {
    record *r = record_of(serial);
    r->is_told = true;
    r->status = status;
    if (status == ZKL_UNKNOWN)
        r->unknown = ++ledger.moments;
    check_told(serial);
    return status == ZKL_OK ? r->done : 0;
}

void sim_ledger_interrupted(unsigned serial) {
    record_of(serial)->unknown = ++ledger.moments;
}

void sim_ledger_parted(const sim_host *host) {
    for (size_t i = 1; i < ledger.record_count; i++)
        if (ledger.records[i].intent.host == host)
            ledger.records[i].unknown = 0;
}

unsigned sim_ledger_asks(void) {
    return ++ledger.moments;
}

int64_t sim_ledger_settles(const sim_host *host, unsigned asked, int64_t floor) {
    /* Keeper ends no former session of a client: a write of one may come behind the read. */
    if (sim_is_keeper)
        return floor;
    for (size_t i = 1; i < ledger.record_count; i++) {
        record *r = &ledger.records[i];
        if (r->intent.host != host || !r->unknown || r->unknown > asked)
            continue;
        if (!r->done)
            r->is_settled = true;
        else if (floor < r->done)
            floor = r->done;
    }
    return floor;
}

/* "w12 7": the write 12, which makes the count 7. 0: it is none of ours. */
static unsigned serial_in(const char *data, uint64_t *count) {
    if (!data || data[0] != 'w')
        return 0;
    char *end;
    const unsigned serial = (unsigned)strtoul(data + 1, &end, 10);
    *count = strtoull(end, NULL, 10);
    return serial;
}

static void done(unsigned serial) {
    record *r = record_of(serial);
    if (r->done && r->done != sim_tree->zxid)
        sim_fail("%s is done twice", text_of(serial));
    if (r->is_settled) /* another session has read it there */
        sim_fail("%s is done after a read that was to show what became of it", text_of(serial));
    SAY("servers: write %u is done, %llx", serial, (unsigned long long)sim_tree->zxid);
    r->done = sim_tree->zxid;
    check_told(serial);
    const char *node = r->intent.node;
    if (*node && !fake_find(sim_tree, node, FAKE_LATEST))
        sim_fail("%s is done, and it was held with %s, which is gone", text_of(serial), node);
}

static void count(unsigned serial, const char *path, uint64_t value) {
    const sim_place place = record_of(serial)->intent.place;
    if (place >= PLACE_POOL || !record_of(serial)->intent.is_exclusive ||
        strcmp(path, paths[NOTE_COUNT + (int)place]) != 0)
        return;
    if (value != ledger.counts[place] + 1)
        sim_fail("%s counts %llu at %s, where it is %llu: an update is lost", text_of(serial),
                 (unsigned long long)value, path, (unsigned long long)ledger.counts[place]);
    ledger.counts[place] = value;
}

static unsigned serial_of(const sim_part *p, uint64_t *value) {
    static const char unique[] = ROOT "/x";
    if (!p->path || strncmp(p->path, ROOT, strlen(ROOT)) != 0)
        return 0;
    if (p->op != OP_DELETE || strncmp(p->path, unique, strlen(unique)) != 0)
        return serial_in(p->data, value);
    return record_of((unsigned)strtoul(p->path + strlen(unique), NULL, 10))->deleted_by;
}

static void part_done(const sim_part *p) {
    uint64_t value = 0;
    const unsigned serial = serial_of(p, &value);
    if (!serial)
        return;
    done(serial);
    count(serial, p->path, value);
}

/* ---- what could be seen ---- */

static void look(sim_note note) {
    const fake_node *node = fake_find(sim_tree, paths[note], FAKE_LATEST);
    state now = {.zxid = sim_tree->zxid};
    if (node) {
        now.czxid = node->czxid;
        now.mzxid = node->mzxid;
        now.pzxid = fake_pzxid(node, FAKE_LATEST);
    }
    size_t *n = &ledger.state_count[note];
    const state *last = &ledger.states[note][*n - 1];
    if (last->czxid == now.czxid && last->mzxid == now.mzxid && last->pzxid == now.pzxid)
        return;
    if (*n == ledger.state_room[note]) {
        ledger.state_room[note] *= 2;
        ledger.states[note] =
            realloc(ledger.states[note], ledger.state_room[note] * sizeof *ledger.states[note]);
        SIM_CHECK(ledger.states[note] != NULL);
    }
    ledger.states[note][(*n)++] = now;
}

static void written(const sim_request *r) {
    size_t n;
    const sim_change *changes = sim_changes(sim_tree->zxid - 1, &n);
    bool concerned = false;
    for (size_t i = 0; i < n && !concerned; i++)
        concerned = strncmp(changes[i].node->path, ROOT, strlen(ROOT)) == 0;
    if (!concerned)
        return;
    for (int note = 0; note < NOTES; note++)
        look((sim_note)note);
    if (!r->from)
        return;
    part_done(&r->part);
    for (size_t i = 0; i < r->part_count; i++)
        part_done(&r->parts[i]);
}

static bool is_so(const state *s, bool children, zkl_status status, const zkl_stat *stat) {
    if (status == ZKL_NO_NODE)
        return s->czxid == 0;
    return status == ZKL_OK && s->czxid == stat->czxid &&
           (children ? s->pzxid == stat->pzxid : s->mzxid == stat->mzxid);
}

int64_t sim_ledger_seen(const sim_host *host, sim_note note, bool children, int64_t floor,
                        zkl_status status, const zkl_stat *stat) {
    const state *states = ledger.states[note];
    const size_t n = ledger.state_count[note];
    size_t i = n - 1;
    while (i > 0 && states[i].zxid > floor)
        i--;
    for (; i < n; i++)
        if (is_so(&states[i], children, status, stat))
            return states[i].zxid > floor ? states[i].zxid : floor;
    sim_fail("host %d is shown %s as it was before %llx%s", host->machine.id, paths[note],
             (unsigned long long)floor, status == ZKL_NO_NODE ? ": not there" : "");
}

bool sim_ledger_is_so(sim_note note, bool children, zkl_status status, const zkl_stat *stat) {
    return is_so(&ledger.states[note][ledger.state_count[note] - 1], children, status, stat);
}

/* ---- life ---- */

static void submitted(const sim_request *r) {
    uint64_t value;
    unsigned serial = serial_of(&r->part, &value);
    if (serial)
        record_of(serial)->is_handed = true;
    for (size_t i = 0; i < r->part_count; i++) {
        serial = serial_of(&r->parts[i], &value);
        if (serial)
            record_of(serial)->is_handed = true;
    }
}

void sim_ledger_begin(void) {
    memset(&ledger, 0, sizeof ledger);
    for (int note = 0; note < NOTES; note++) {
        ledger.states[note] = sim_new(16 * sizeof *ledger.states[note]);
        ledger.state_room[note] = 16;
        ledger.state_count[note] = 1; /* nothing is there */
    }
    sim_written = written;
    sim_submitted = submitted;
}

void sim_ledger_end(void) {
    sim_written = NULL;
    sim_submitted = NULL;
    free(ledger.records);
    for (int note = 0; note < NOTES; note++)
        free(ledger.states[note]);
}
