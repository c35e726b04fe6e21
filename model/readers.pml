/* SPDX-License-Identifier: MIT */
/* Places of readers (fair = false, docs/internals/protocol.md), small enough that every order of events is tried: a client whose
 * readers share one node, one of its callers who writes and then goes on as a reader, and writers elsewhere. Servers do
 * not lag here, and links are not cut: that is the subject of model/recipe.pml and model/place.pml. Time is: it goes in
 * halves of a stint.
 *
 * model/run.sh has the courses: how many callers of the client there are; whether the first of them WRITES, how many
 * writers there are ELSEWHERE, how often the readers come, for how many TICKS time goes on, and how many faults of each
 * kind there may be. With FIRST, a node enters by the answer to its create, if that tells that it is the only one. A
 * mutant is a rule that is left out.
 *
 * This must hold, always: who writes is alone, but for his own read; nobody gets in on a node of whose deletion his
 * client has heard, or beside a read whose write has not ended well; no reader gets a smaller token than a writer has had
 * before; nobody but the first gets in on a place behind which a writer has stood for a stint. In the end: every call was
 * answered once, no node is left. */

#define CALLERS 4 /* at most, as of the rest */
#define SESSIONS 3
#define NODES 8
#define STINT 2

byte callers, elsewhere, rounds_most, ticks, mutant;
byte cancels, operators, abandons; /* still to come */
bool writes, proves;

c_decl {
    static unsigned char setting(const char *name) {
        const char *text = getenv(name);
        return text ? (unsigned char)atoi(text) : 0;
    }
}

inline read_settings() {
    c_code {
        now.callers = setting("CALLERS");
        now.writes = setting("WRITES");
        now.elsewhere = setting("ELSEWHERE");
        now.rounds_most = setting("ROUNDS");
        now.proves = setting("FIRST");
        now.ticks = setting("TICKS");
        now.mutant = setting("MUTANT");
        now.cancels = setting("CANCELS");
        now.operators = setting("OPERATORS");
        now.abandons = setting("ABANDONS");
    }
}

#define LAST (callers - 1)

#define NOBODY 255
#define BIT(node) (1 << (node))

/* The slots for a client in the line: the readers' place, the place that is lent by a write, the write; then the
 * writers elsewhere, each with a client of its own. */
#define READ 0
#define LENT 1
#define WRITE 2
#define SLOTS 5
#define SESSION(slot) (slot <= WRITE -> 0 : slot - WRITE)
#define IS_OF(slot, s) ((s) == 0 && (slot) <= WRITE || (s) > 0 && (slot) == WRITE + (s))

/* ---- the servers */

byte made, sequences;
byte there;
byte made_by[NODES], sequence[NODES];
bool is_write[NODES], deleted_by_operator[NODES];
byte watch[SESSIONS];

/* ---- the wire */

mtype = { CREATE, UNDER, ERASE, LIST, GET };
mtype = { MADE, ONLY, LISTED, FOUND, NONE, DELETED };

chan request[SESSIONS] = [6] of { mtype, byte };        /* what, slot or node */
chan answer[SESSIONS] = [8] of { mtype, byte, byte };   /* what, node or nodes, slot */

/* ---- the clients */

byte snapshot[SESSIONS], erasing[SESSIONS];
bool listing[SESSIONS], wanted[SESSIONS];

#define NODE_NONE 0
#define NODE_ASKED 1
#define NODE_THERE 2

byte node[SLOTS], name[SLOTS], blocker[SLOTS];
bool entered[SLOTS], sealed[SLOTS];
byte holders[SLOTS], waiting[SLOTS]; /* callers; elsewhere: 1 */

#define UNKNOWN 0
#define ALONE 1
#define SOME 2

/* Of the first two slots. */
byte company[2], turn[2];
bool under; /* the write is held under which the read was taken */
bool ill;   /* and has ended, but not well */

/* How long ago, in halves of a stint; what is more than one is one: the list that is on its way was sent; the latest one
 * that was answered was; somebody may have come behind a place; in truth, a place was entered, and a writer came. */
byte sent, known, since[2], entered_ago[2], came[NODES];

/* ---- the callers */

#define IDLE 0
#define WAITING 1
#define HELD 2

byte phase[CALLERS], rounds[CALLERS], answers[CALLERS];
byte writing; /* of the first one: IDLE, WAITING, HELD, and GONE */
#define GONE 3
byte phase_elsewhere[SESSIONS];

/* ---- what nobody knows, but what is asserted */

bool heard_gone[NODES];
byte highest; /* one more than the sequence of the latest write that was granted */

hidden byte at, k, found;

/* ---- servers */

inline make(s, slot, write, number) {
    assert(made < NODES);
    made_by[made] = s;
    is_write[made] = write;
    sequence[made] = number;
    came[made] = 0;
    there = there | BIT(made);
    if
    :: proves && there == BIT(made) -> answer[s] ! ONLY(made, slot)
    :: else -> answer[s] ! MADE(made, slot)
    fi;
    made++
}

inline remove(n) {
    if
    :: there & BIT(n) ->
        there = there & ~BIT(n);
        came[n] = 0;
        for (k : 0 .. elsewhere) {
            if
            :: watch[k] & BIT(n) ->
                watch[k] = watch[k] & ~BIT(n);
                answer[k] ! DELETED(n, 0)
            :: else
            fi
        }
    :: else
    fi;
    k = 0
}

proctype Server(byte s) {
    mtype what;
    byte n;
end:
    do
    :: atomic {
        request[s] ? what(n) ->
        if
        :: what == CREATE -> make(s, n, n >= WRITE, sequences); sequences++
        :: what == UNDER -> make(s, LENT, false, sequence[n])
        :: what == ERASE -> remove(n)
        :: what == LIST -> answer[s] ! LISTED(there, 0)
        :: what == GET ->
            if
            :: there & BIT(n) -> watch[s] = watch[s] | BIT(n); answer[s] ! FOUND(n, 0)
            :: else -> answer[s] ! NONE(n, 0)
            fi
        fi;
        what = 0; n = 0 }
    od
}

/* ---- what is asserted */

#define SURE(slot) (holders[slot] != 0 && !deleted_by_operator[name[slot]])

inline assert_alone() {
    for (at : WRITE .. WRITE + elsewhere) {
        if
        :: SURE(at) ->
            assert(!SURE(READ));
            assert(!SURE(LENT) || (at == WRITE && holders[LENT] == 1));
            for (k : WRITE .. WRITE + elsewhere) { assert(k == at || !SURE(k)) }
        :: else
        fi
    }
    at = 0; k = 0
}

/* Those who write and stand behind a place: how long. */
inline assert_bound(slot) {
    for (at : 0 .. NODES - 1) {
        assert(!(there & BIT(at)) || !is_write[at] || sequence[at] <= sequence[name[slot]] ||
            turn[slot] == 1 || came[at] < STINT || entered_ago[slot] < STINT)
    }
    at = 0
}

/* ---- clients: their nodes */

inline erase(s, n) {
    erasing[s] = erasing[s] | BIT(n);
    request[s] ! ERASE(n)
}

inline clear_slot(slot) {
    node[slot] = NODE_NONE;
    name[slot] = NOBODY;
    blocker[slot] = NOBODY;
    entered[slot] = false;
    sealed[slot] = false;
    if
    :: slot < WRITE ->
        company[slot] = UNKNOWN;
        since[slot] = 0;
        turn[slot] = 0;
        entered_ago[slot] = 0;
        ill = ill && slot != LENT
    :: else
    fi
}

inline drop(slot) {
    erase(SESSION(slot), name[slot]);
    clear_slot(slot)
}

inline ask_list(s) { wanted[s] = true }

inline queue_up(slot) {
    node[slot] = NODE_ASKED;
    request[SESSION(slot)] ! CREATE(slot);
    wanted[SESSION(slot)] = wanted[SESSION(slot)] || !proves
}

/* The answer to the create. A read under a write counts by a list that shows both, whoever was there. */
inline created(slot, only) {
    if
    :: proves && slot == LENT && mutant != 10
    :: proves && (slot != LENT || mutant == 10) && only ->
        entered[slot] = true;
        if
        :: slot < WRITE -> since[slot] = 0; entered_ago[slot] = 0
        :: else
        fi
    :: proves && slot != LENT && !(only) -> ask_list(SESSION(slot))
    :: else
    fi
}

/* Its write has ended. `well`: so others may read beside it, those who have queued meanwhile first. */
inline downgrade(well) {
    if
    :: under ->
        under = false;
        sealed[LENT] = sealed[LENT] || !(well || mutant == 6);
        ill = !well;
        if
        :: well ->
            waiting[LENT] = waiting[LENT] | waiting[READ];
            waiting[READ] = 0
        :: else
        fi
    :: else
    fi
}

/* Its node is not there any more, and not by its doing: who holds is told, who waits is answered. */
inline lose(slot) {
    if
    :: slot == WRITE -> downgrade(false); writing = GONE; holders[WRITE] = 0; waiting[WRITE] = 0
    :: slot > WRITE -> phase_elsewhere[SESSION(slot)] = GONE; holders[slot] = 0; waiting[slot] = 0
    :: slot < WRITE ->
        for (at : 0 .. LAST) {
            if
            :: holders[slot] & BIT(at) -> phase[at] = IDLE
            :: slot == LENT && (waiting[slot] & BIT(at)) -> phase[at] = IDLE; answers[at]++
            :: else
            fi
        }
        holders[slot] = 0;
        waiting[slot] = (slot == LENT -> 0 : waiting[slot]);
        under = under && slot != LENT;
        at = 0
    fi;
    clear_slot(slot)
}

/* ---- clients: the readers' places */

inline grant(slot) {
    found = 0;
    do
    :: waiting[slot] & BIT(found) -> break
    :: else -> found++
    od;
    waiting[slot] = waiting[slot] & ~BIT(found);
    assert(phase[found] == WAITING);
    assert(!heard_gone[name[slot]]);
    assert(!ill || slot != LENT || turn[slot] == 0);
    assert(sequence[name[slot]] + 1 >= highest || deleted_by_operator[name[slot]]);
    phase[found] = HELD;
    answers[found]++;
    holders[slot] = holders[slot] | BIT(found);
    found = 0;
    turn[slot] = (turn[slot] < 2 -> turn[slot] + 1 : 2);
    assert_bound(slot);
    assert_alone()
}

/* Others who write: in the latest list, but for the write that has lent the node. */
inline look_behind(slot, is_new) {
    if
    :: is_new ->
        found = false;
        for (at : 0 .. NODES - 1) {
            found = found || ((snapshot[0] & BIT(at)) && is_write[at] && !(erasing[0] & BIT(at)) &&
                !(slot == LENT && sequence[at] == sequence[name[slot]]))
        }
        if
        :: found && company[slot] == ALONE && mutant == 4 -> since[slot] = 0
        :: !found -> since[slot] = known
        :: else
        fi;
        company[slot] = (found -> SOME : ALONE);
        at = 0; found = 0
    :: !is_new && company[slot] == ALONE && known >= STINT && mutant != 3 -> company[slot] = UNKNOWN
    :: else
    fi
}

#define WAITED(slot) (mutant != 2 && company[slot] != ALONE && turn[slot] > 0 && since[slot] >= STINT)

/* Lets in who waits. */
inline let_in(slot) {
    do
    :: waiting[slot] == 0 -> break
    :: waiting[slot] != 0 && (turn[slot] == 0 || (slot == LENT && under)) -> grant(slot)
    :: waiting[slot] != 0 && turn[slot] > 0 && !(slot == LENT && under) ->
        if
        :: sealed[slot] -> break
        :: !sealed[slot] && WAITED(slot) && company[slot] == UNKNOWN -> ask_list(0); break
        :: !sealed[slot] && WAITED(slot) && company[slot] != UNKNOWN -> sealed[slot] = true; break
        :: !sealed[slot] && !WAITED(slot) -> grant(slot)
        fi
    od
}

inline advance_readers(slot) {
    if
    :: node[slot] == NODE_NONE && waiting[slot] != 0 ->
        assert(slot == READ);
        queue_up(slot)
    :: node[slot] == NODE_THERE && !entered[slot] && waiting[slot] == 0 -> drop(slot)
    :: node[slot] == NODE_THERE && entered[slot] ->
        look_behind(slot, false);
        let_in(slot);
        if
        :: holders[slot] == 0 && (sealed[slot] || waiting[slot] == 0) ->
            if
            :: slot == LENT && waiting[slot] != 0 -> waiting[READ] = waiting[READ] | waiting[LENT]; waiting[LENT] = 0
            :: else
            fi;
            drop(slot);
            under = under && slot != LENT
        :: holders[slot] != 0 && company[slot] == UNKNOWN -> ask_list(0)
        :: else
        fi
    :: else
    fi
}

inline advance_writer(slot) {
    if
    :: node[slot] == NODE_NONE && waiting[slot] != 0 -> queue_up(slot)
    :: node[slot] == NODE_THERE && entered[slot] && waiting[slot] != 0 ->
        waiting[slot] = 0;
        holders[slot] = 1;
        highest = (sequence[name[slot]] >= highest -> sequence[name[slot]] + 1 : highest);
        if
        :: slot == WRITE -> writing = HELD
        :: else -> phase_elsewhere[SESSION(slot)] = HELD
        fi;
        assert_alone()
    :: node[slot] == NODE_THERE && entered[slot] && waiting[slot] == 0 && holders[slot] == 0 -> drop(slot)
    :: else
    fi
}

/* The end of each step. */
inline settle(s) {
    if
    :: s == 0 -> advance_readers(LENT); advance_readers(READ); advance_readers(READ); advance_writer(WRITE)
    :: else -> advance_writer(WRITE + s)
    fi;
    if
    :: wanted[s] && !listing[s] ->
        wanted[s] = false;
        listing[s] = true;
        request[s] ! LIST(0);
        sent = (s == 0 -> 0 : sent)
    :: else
    fi
}

/* ---- clients: answers */

/* Its blocker, as far as the latest list knows. A node that a write has lent counts once both were seen. */
inline evaluate(slot) {
    blocker[slot] = NOBODY;
    for (at : 0 .. NODES - 1) {
        if
        :: (snapshot[SESSION(slot)] & BIT(at)) && !(erasing[SESSION(slot)] & BIT(at)) &&
                sequence[at] < sequence[name[slot]] && (is_write[at] || is_write[name[slot]]) &&
                (blocker[slot] == NOBODY || sequence[at] >= sequence[blocker[slot]]) ->
            blocker[slot] = at
        :: else
        fi
    }
    at = 0;
    if
    :: blocker[slot] == NOBODY ->
        entered[slot] = true;
        if
        :: slot < WRITE ->
            since[slot] = 0;
            entered_ago[slot] = 0;
            look_behind(slot, true)
        :: else
        fi
    :: else -> request[SESSION(slot)] ! GET(blocker[slot])
    fi
}

inline evaluate_lent(nodes) {
    found = false;
    for (at : 0 .. NODES - 1) {
        found = found || ((nodes & BIT(at)) && is_write[at] && sequence[at] == sequence[name[LENT]])
    }
    at = 0;
    if
    :: found || mutant == 5 -> found = 0; evaluate(LENT)
    :: else -> found = 0; erase(0, name[LENT]); lose(LENT)
    fi
}

inline listed(s, nodes) {
    listing[s] = false;
    snapshot[s] = nodes;
    known = (s != 0 -> known : (mutant == 8 -> 0 : sent));
    sent = (s == 0 -> 0 : sent);
    for (slot : 0 .. SLOTS - 1) {
        if
        :: IS_OF(slot, s) && node[slot] == NODE_THERE ->
            if
            :: !(nodes & BIT(name[slot])) -> heard_gone[name[slot]] = true; lose(slot)
            :: (nodes & BIT(name[slot])) && entered[slot] && slot < WRITE -> look_behind(slot, true)
            :: (nodes & BIT(name[slot])) && !entered[slot] && slot == LENT -> evaluate_lent(nodes)
            :: (nodes & BIT(name[slot])) && !entered[slot] && slot != LENT -> evaluate(slot)
            :: else
            fi
        :: else
        fi
    }
    slot = 0
}

/* `missed`: it was not there when it was to be watched. */
inline gone(s, n, missed) {
    snapshot[s] = snapshot[s] & ~BIT(n);
    for (slot : 0 .. SLOTS - 1) {
        if
        :: IS_OF(slot, s) && node[slot] == NODE_THERE && name[slot] == n -> heard_gone[n] = true; lose(slot)
        :: IS_OF(slot, s) && node[slot] == NODE_THERE && name[slot] != n && blocker[slot] == n && !entered[slot] ->
            if
            :: missed || (is_write[n] && is_write[name[slot]] && mutant != 7) -> blocker[slot] = NOBODY; ask_list(s)
            :: else -> evaluate(slot)
            fi
        :: else
        fi
    }
    slot = 0
}

/* ---- the processes */

proctype Client(byte s) {
    mtype what;
    byte n, more, slot;
end:
    do
    :: atomic {
        if
        :: answer[s] ? what(n, more) ->
            if
            :: what == MADE || what == ONLY ->
                node[more] = NODE_THERE;
                name[more] = n;
                watch[s] = watch[s] | BIT(n); /* its own node is watched as soon as it can be */
                created(more, what == ONLY);
                if
                :: more == LENT && mutant == 5 -> evaluate(LENT)
                :: else
                fi
            :: what == LISTED -> listed(s, n)
            :: what == FOUND
            :: what == NONE -> gone(s, n, true)
            :: what == DELETED -> gone(s, n, false)
            fi
        :: s == 0 && (holders[READ] | holders[LENT]) != 0 && !listing[0] && !wanted[0] && known > 0 ->
            ask_list(0) /* half a stint later, or when the timer is served */
        fi;
        settle(s);
        what = 0; n = 0; more = 0 }
    od
}

inline come_to_read(me) {
    rounds[me]++;
    phase[me] = WAITING;
    if
    :: node[LENT] != NODE_NONE && !under && !sealed[LENT] -> waiting[LENT] = waiting[LENT] | BIT(me)
    :: node[LENT] != NODE_NONE && under && mutant == 9 -> waiting[LENT] = waiting[LENT] | BIT(me)
    :: else -> waiting[READ] = waiting[READ] | BIT(me)
    fi
}

/* The first release ends the place only without the rule. */
inline leave(me) {
    phase[me] = IDLE;
    for (k : READ .. LENT) {
        if
        :: holders[k] & BIT(me) ->
            holders[k] = holders[k] & ~BIT(me);
            if
            :: mutant == 1 && holders[k] != 0 -> erase(0, name[k])
            :: else
            fi
        :: else
        fi
    }
    k = 0
}

proctype Reader(byte me) {
    do
    :: atomic {
        if
        :: phase[me] == IDLE && rounds[me] < rounds_most -> come_to_read(me)
        :: phase[me] == HELD -> leave(me)
        :: phase[me] == WAITING && cancels > 0 ->
            cancels--;
            answers[me]++;
            waiting[READ] = waiting[READ] & ~BIT(me);
            waiting[LENT] = waiting[LENT] & ~BIT(me);
            phase[me] = IDLE
        fi;
        settle(0) }
    :: phase[me] == IDLE && rounds[me] == rounds_most -> break
    od;
    assert(answers[me] == rounds[me])
}

/* Writes, takes read under it, gives back the write, then the read; or one of them fails him. */
proctype Writer() {
    atomic { writing = WAITING; waiting[WRITE] = 1; settle(0) }
    do
    :: atomic { writing == HELD && rounds[0] == 0 ->
        rounds[0] = 1;
        phase[0] = WAITING;
        node[LENT] = NODE_ASKED;
        under = true;
        waiting[LENT] = 1;
        request[0] ! UNDER(name[WRITE]);
        ask_list(0);
        settle(0) }
    :: atomic { writing == HELD && rounds[0] == 1 ->
        downgrade(true);
        holders[WRITE] = 0;
        writing = GONE;
        settle(0) }
    :: atomic { writing == HELD && abandons > 0 ->
        abandons--;
        downgrade(false);
        holders[WRITE] = 0;
        writing = GONE;
        settle(0) }
    :: atomic { phase[0] == HELD && writing == GONE -> leave(0); settle(0) }
    :: writing == GONE && phase[0] == IDLE -> break
    od;
    assert(answers[0] == rounds[0])
}

proctype Stranger(byte s) {
    atomic { waiting[WRITE + s] = 1; phase_elsewhere[s] = WAITING; settle(s) }
    do
    :: atomic { phase_elsewhere[s] == HELD -> holders[WRITE + s] = 0; phase_elsewhere[s] = GONE; settle(s) }
    :: phase_elsewhere[s] == GONE -> break
    od
}

/* Time counts only while somebody may stand behind readers. */
proctype Clock() {
    byte n;
end:
    do
    :: atomic { ticks > 0 && (entered[READ] || entered[LENT]) ->
        ticks--;
        known = (known < STINT -> known + 1 : STINT);
        sent = (listing[0] && sent < STINT -> sent + 1 : sent);
        for (n : READ .. LENT) {
            if
            :: entered[n] ->
                since[n] = (since[n] < STINT -> since[n] + 1 : STINT);
                entered_ago[n] = (entered_ago[n] < STINT -> entered_ago[n] + 1 : STINT)
            :: else
            fi
        }
        for (n : 0 .. NODES - 1) {
            came[n] = ((there & BIT(n)) && is_write[n] && came[n] < STINT -> came[n] + 1 : came[n])
        }
        n = 0 }
    od
}

proctype Fate() {
    byte n;
end:
    do
    :: atomic { operators > 0 && there != 0 ->
        operators--;
        select(n : 0 .. NODES - 1);
        if
        :: there & BIT(n) -> deleted_by_operator[n] = true; remove(n)
        :: else
        fi;
        n = 0 }
    od
}

init {
    byte n;
    atomic {
        read_settings();
        for (n : 0 .. SLOTS - 1) {
            name[n] = NOBODY;
            blocker[n] = NOBODY
        }
        for (n : 0 .. elsewhere) {
            run Server(n);
            run Client(n)
        }
        run Fate();
        run Clock();
        if
        :: writes -> run Writer()
        :: else
        fi;
        for (n : (writes -> 1 : 0) .. LAST) { run Reader(n) }
        for (n : 1 .. elsewhere) { run Stranger(n) }
    }
    (_nr_pr == 2 * (elsewhere + 1) + 3 && node[READ] == NODE_NONE && node[LENT] == NODE_NONE && node[WRITE] == NODE_NONE) -> skip;
    (len(request[0]) == 0 && len(request[1]) == 0 && len(request[2]) == 0) -> assert(there == 0)
}
