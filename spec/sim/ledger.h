/* SPDX-License-Identifier: MIT */
/* ledger: what became of nodes that are no locks, by what the servers have done: which write was
 * done and which was not, the counters that guarded writes keep, and what could be seen where and
 * when. The answers that a host gets are held against that. */
#ifndef LEDGER_H
#define LEDGER_H

#include "host.h"

/* The nodes that hosts read, write and watch besides locks. */
typedef enum sim_note {
    NOTE_ROOT,                                   /* above the others; its children come and go */
    NOTE_FLAG,                                   /* anybody's */
    NOTE_COUNT,                                  /* of PLACE_A: who holds there counts; ... */
    NOTE_COUNTS_END = NOTE_COUNT + PLACE_SHARED, /* ... of PLACE_B, PLACE_SHARED */
    NOTES
} sim_note;

/* Absolute, as sim_place_path. */
const char *sim_note_path(sim_note note);

/* ---- writes ---- */

/* A host is about to ask for a write, which bears the serial number in its data (or, a delete, in
 * the name of the node that is to go). */
typedef struct sim_intent {
    const sim_host *host;
    sim_place place; /* guarded: where it is held; PLACES: it is not guarded */
    char node[128];  /* ... with that one; "": with several */
    bool is_exclusive;
} sim_intent;
unsigned sim_ledger_intend(const sim_intent *intent);
/* ... to have the node gone that this one made. */
void sim_ledger_intend_delete(unsigned made_by, unsigned serial);
/* The host was told its outcome. Floor: when it was done; 0: it was not, or nobody knows. */
int64_t sim_ledger_told(unsigned serial, zkl_status status);

/* The host has interrupted it: nobody tells it what became of the write. */
void sim_ledger_interrupted(unsigned serial);
/* Its client is gone: another one promises nothing of this one's writes. */
void sim_ledger_parted(const sim_host *host);

/* ---- reads ---- */

/* A read begins. Its end settles the outcome of the host's earlier unknown writes. */
unsigned sim_ledger_asks(void);
/* The read that began as `asked` was answered. Those unknown writes that are not done yet never may
 * be; the others are shown: returns the floor raised to them. */
int64_t sim_ledger_settles(const sim_host *host, unsigned asked, int64_t floor);

/* A host was shown this, and may be shown nothing that was over before `floor`: returns since when
 * it was so at least. */
int64_t sim_ledger_seen(const sim_host *host, sim_note note, bool children, int64_t floor,
                        zkl_status status, const zkl_stat *stat);
/* Is it so now? */
bool sim_ledger_is_so(sim_note note, bool children, zkl_status status, const zkl_stat *stat);

void sim_ledger_begin(void);
void sim_ledger_end(void);

#endif
