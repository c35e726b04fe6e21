/* SPDX-License-Identifier: MIT */
/* Places (fair = false, docs/internals/protocol.md), small enough that every order of events is tried: a client whose callers
 * take turns on one node, others who wait fairly, and servers whose views lag. How a node waits for its turn is the
 * subject of model/recipe.pml: here a list says so.
 *
 * model/run.sh has the courses: how many callers there are, how many of them are on the first client's place, how often
 * those acquire, how many stints pass, and how many faults of each kind there may be in all. Sessions below FIRST enter by
 * the answer to the create, if it tells that the node is the only one. A mutant is a rule that is left out, by its
 * number.
 *
 * This must hold, always: one holder who believes in his session, and whose node no operator has deleted; nobody is
 * granted on a node of whose deletion his client has heard, or on which somebody has ended without a release; nobody but
 * the first is granted on a place behind which somebody has stood for a stint, as its client's server has told; no place
 * is idle with somebody behind it. In the end: every call was answered once, no node is left. Time goes in whole stints:
 * between two of them anything may happen, and takes no time. */

#define CALLERS 4 /* at most, as of the rest */
#define SESSIONS 3
#define NODES 10

byte callers, shared, rounds_most, firsts, mutant;
byte cuts, relinks, cancels, operators, expiries, abandons, stints, again; /* still to come */
bool lingers;

c_decl {
    static unsigned char setting(const char *name) {
        const char *text = getenv(name);
        return text ? (unsigned char)atoi(text) : 0;
    }
}

inline read_settings() {
    c_code {
        now.callers = setting("CALLERS");
        now.shared = setting("SHARED");
        now.rounds_most = setting("ROUNDS");
        now.firsts = setting("FIRST");
        now.lingers = setting("LINGER");
        now.mutant = setting("MUTANT");
        now.cuts = setting("CUTS");
        now.relinks = setting("RELINKS");
        now.cancels = setting("CANCELS");
        now.operators = setting("OPERATORS");
        now.expiries = setting("EXPIRIES");
        now.abandons = setting("ABANDONS");
        now.stints = setting("STINTS");
        now.again = setting("AGAIN");
    }
}

/* Each other caller has a client of its own, and waits fairly, once: its node goes with its hold. */
#define SESSION(c) (c < shared -> 0 : c - shared + 1)
#define ROUNDS(c) (c < shared -> rounds_most : 1)
#define LAST (callers - 1)
#define LAST_SESSION (callers - shared)

#define NOBODY 255
#define BIT(node) (1 << (node))

/* ---- the servers: a log of creates and deletes */

byte log[2 * NODES]; /* 2 * node, and 1 if it was deleted */
byte committed, made;
short there;
byte made_by[NODES], made_as[NODES]; /* the session, and the number of its create */
byte created_at[NODES], deleted_at[NODES]; /* places in the log, and 1 */
bool deleted_by_operator[NODES], tainted[NODES]; /* somebody has ended on it without a release */

/* ---- what each session's server knows */

byte seen_to[SESSIONS];
short view[SESSIONS], watch[SESSIONS];
bool folder_watch[SESSIONS];

/* ---- the wire */

mtype = { CREATE, ERASE, LIST, ATTEND, GET, BARRIER };      /* ATTEND: a list, with a watch on the directory */
mtype = { MADE, ONLY, ERASED, LISTED, ATTENDED, FOUND, NONE, DONE };
mtype = { DELETED, CHANGED };

chan request[SESSIONS] = [8] of { mtype, byte };            /* what, node or number */
chan answer[SESSIONS] = [12] of { mtype, short, byte };     /* what, node or nodes, log */

/* ---- the clients */

bool linked[SESSIONS], trusted[SESSIONS], alive[SESSIONS];
byte known[SESSIONS];
short snapshot[SESSIONS], armed[SESSIONS], asked[SESSIONS];
short erasing[SESSIONS]; /* nodes whose deletion was not confirmed */
bool current[SESSIONS];  /* a watch on the directory tells when the snapshot changes */
bool stale[SESSIONS], listing[SESSIONS], wanted[SESSIONS];

#define NODE_NONE 0
#define NODE_ASKED 1
#define NODE_LOST 2
#define NODE_THERE 3

#define UNKNOWN 0
#define ALONE 1
#define SOME 2

byte node[SESSIONS], name[SESSIONS], number[SESSIONS], blocker[SESSIONS];
bool entered[SESSIONS]; /* nobody is before it */
bool sealed[SESSIONS], idle[SESSIONS], timer[SESSIONS];
byte company[SESSIONS], turn[SESSIONS];
bool waited[SESSIONS]; /* since a stint ago somebody may be behind it */
byte holder[SESSIONS];
chan waiting[SESSIONS] = [CALLERS] of { byte };

/* ---- the callers */

#define IDLE 0
#define WAITING 1
#define HELD 2

byte phase[CALLERS], rounds[CALLERS], answers[CALLERS];

/* ---- what nobody knows, but what is asserted */

byte heard[SESSIONS]; /* the most of the log that it was ever told */
short late[SESSIONS]; /* who has stood behind its place for a stint, as it was told */

hidden byte at, k;
hidden byte found;
hidden short others;

/* ---- servers */

inline advance(s) {
    at = log[seen_to[s]] / 2;
    if
    :: log[seen_to[s]] % 2 == 0 -> view[s] = view[s] | BIT(at)
    :: else ->
        view[s] = view[s] & ~BIT(at);
        if
        :: watch[s] & BIT(at) ->
            watch[s] = watch[s] & ~BIT(at);
            answer[s] ! DELETED(at, seen_to[s] + 1)
        :: else
        fi
    fi;
    seen_to[s] = seen_to[s] + 1;
    if
    :: folder_watch[s] ->
        folder_watch[s] = false;
        answer[s] ! CHANGED(0, seen_to[s])
    :: else
    fi
}

inline catch_up(s) {
    do
    :: seen_to[s] < committed -> advance(s)
    :: else -> break
    od
}

inline commit_delete(n, by_operator) {
    there = there & ~BIT(n);
    log[committed] = 2 * n + 1;
    committed++;
    deleted_at[n] = committed;
    deleted_by_operator[n] = by_operator
}

inline serve(s, what, n) {
    if
    :: what == CREATE ->
        assert(made < NODES);
        log[committed] = 2 * made;
        committed++;
        there = there | BIT(made);
        made_by[made] = s;
        made_as[made] = n;
        created_at[made] = committed;
        made++;
        catch_up(s);
        if
        :: s < firsts && there == BIT(made - 1) -> answer[s] ! ONLY(made - 1, seen_to[s])
        :: else -> answer[s] ! MADE(made - 1, seen_to[s])
        fi
    :: what == ERASE ->
        if
        :: there & BIT(n) -> commit_delete(n, false)
        :: else
        fi;
        catch_up(s);
        answer[s] ! ERASED(n, seen_to[s])
    :: what == BARRIER ->
        catch_up(s);
        answer[s] ! DONE(0, seen_to[s])
    :: what == LIST -> answer[s] ! LISTED(view[s], seen_to[s])
    :: what == ATTEND ->
        folder_watch[s] = true;
        answer[s] ! ATTENDED(view[s], seen_to[s])
    :: what == GET ->
        if
        :: view[s] & BIT(n) ->
            watch[s] = watch[s] | BIT(n);
            answer[s] ! FOUND(n, seen_to[s])
        :: else -> answer[s] ! NONE(n, seen_to[s])
        fi
    fi
}

proctype Server(byte s) {
    mtype what;
    byte n;
end:
    do
    :: atomic { request[s] ? what(n) -> serve(s, what, n); what = 0; n = 0; at = 0 }
    :: atomic { linked[s] && seen_to[s] < committed -> advance(s); at = 0 }
    od
}

/* ---- what is asserted */

#define SURE(s) (holder[s] != NOBODY && trusted[s] && !deleted_by_operator[name[s]])

inline assert_alone(s) {
    for (at : 0 .. LAST_SESSION) {
        assert(at == s || !SURE(at) || !SURE(s))
    }
    for (at : 0 .. LAST) {
        assert(SESSION(at) != s || phase[at] != HELD || holder[s] == at)
    }
}

/* The nodes of others behind its place, of which its server has told. */
inline find_behind(s) {
    others = 0;
    for (at : 0 .. NODES - 1) {
        others = others | ((at > name[s] && (there & BIT(at)) && made_by[at] != s && created_at[at] <= heard[s]) ->
            BIT(at) : 0)
    }
}

inline pass_stint(s) {
    if
    :: entered[s] ->
        find_behind(s);
        late[s] = late[s] | others;
        waited[s] = (company[s] != ALONE)
    :: else
    fi
}

/* ---- clients: requests */

inline ask_watch(s, n) {
    if
    :: linked[s] && !((armed[s] | asked[s]) & BIT(n)) && !(mutant == 1 && n == name[s]) ->
        asked[s] = asked[s] | BIT(n);
        request[s] ! GET(n)
    :: else
    fi
}

inline ask_create(s) {
    number[s]++;
    node[s] = NODE_ASKED;
    name[s] = NOBODY;
    request[s] ! CREATE(number[s]);
    wanted[s] = wanted[s] || s >= firsts
}

inline erase(s, n) {
    erasing[s] = erasing[s] | BIT(n);
    if
    :: linked[s] -> request[s] ! ERASE(n)
    :: else
    fi
}

inline clear_place(s) {
    node[s] = NODE_NONE;
    name[s] = NOBODY;
    blocker[s] = NOBODY;
    entered[s] = false;
    sealed[s] = false;
    idle[s] = false;
    timer[s] = false;
    company[s] = UNKNOWN;
    turn[s] = 0;
    waited[s] = false;
    late[s] = 0
}

inline drop(s) {
    erase(s, name[s]);
    clear_place(s)
}

/* ---- clients: the turns */

inline grant(s, c) {
    waiting[s] ? c;
    assert(phase[c] == WAITING);
    assert(deleted_at[name[s]] == 0 || deleted_at[name[s]] > known[s]);
    assert(!tainted[name[s]]);
    phase[c] = HELD;
    answers[c]++;
    holder[s] = c;
    idle[s] = false;
    turn[s] = (turn[s] < 2 -> turn[s] + 1 : 2);
    assert(turn[s] == 1 || !(late[s] & there));
    assert_alone(s)
}

/* Its node is not there any more, and not by its doing: whoever holds is told, whoever waits goes on. */
inline lose(s) {
    armed[s] = armed[s] & ~BIT(name[s]);
    if
    :: holder[s] != NOBODY -> phase[holder[s]] = IDLE; holder[s] = NOBODY
    :: else
    fi;
    clear_place(s)
}

#define USED_UP(s) (mutant != 4 && turn[s] > 0 && waited[s])

/* A list is on its way. */
inline ask_behind(s) { wanted[s] = wanted[s] || !listing[s] }

inline look_behind(s) {
    if
    :: entered[s] && current[s] ->
        company[s] = ((snapshot[s] & ~BIT(name[s]) & ~erasing[s]) -> SOME : ALONE)
    :: entered[s] && !current[s] && company[s] == ALONE && mutant != 3 -> company[s] = UNKNOWN
    :: entered[s] && !current[s] && company[s] == ALONE && mutant == 3 -> ask_behind(s)
    :: else
    fi;
    waited[s] = waited[s] && company[s] != ALONE
}

/* One thing that is to be done; `k`: there may be more. */
inline tend(s, c) {
    k = false;
    if
    :: node[s] == NODE_NONE && len(waiting[s]) > 0 && linked[s] -> ask_create(s)
    :: node[s] == NODE_THERE && !entered[s] && len(waiting[s]) == 0 -> drop(s); k = true
    :: entered[s] && holder[s] != NOBODY && company[s] == UNKNOWN && (s >= firsts || len(waiting[s]) > 0) ->
        ask_behind(s)
    :: entered[s] && holder[s] == NOBODY ->
        if
        :: turn[s] == 0 && len(waiting[s]) > 0 -> grant(s, c); k = true
        :: else ->
            if
            :: sealed[s] && mutant != 9 -> drop(s); k = true
            :: !(sealed[s] && mutant != 9) && len(waiting[s]) == 0 ->
                if
                :: linked[s] && lingers && s == 0 && (company[s] != SOME || mutant == 8) ->
                    idle[s] = true;
                    timer[s] = true;
                    wanted[s] = wanted[s] || (company[s] == UNKNOWN && !listing[s])
                :: else -> drop(s); k = true
                fi
            :: !(sealed[s] && mutant != 9) && len(waiting[s]) > 0 ->
                idle[s] = false;
                if
                :: USED_UP(s) && company[s] == UNKNOWN && linked[s] -> ask_behind(s)
                :: USED_UP(s) && !(company[s] == UNKNOWN && linked[s]) -> drop(s); k = true
                :: !USED_UP(s) && linked[s] && stale[s] -> ask_behind(s)
                :: !USED_UP(s) && linked[s] && !stale[s] && !(armed[s] & BIT(name[s])) && mutant != 1 ->
                    ask_watch(s, name[s])
                :: !USED_UP(s) && linked[s] && !stale[s] && trusted[s] &&
                        ((armed[s] & BIT(name[s])) || mutant == 1) -> grant(s, c); k = true
                :: !USED_UP(s) && !linked[s]
                fi
            fi
        fi
    :: else
    fi
}

/* The end of each step. */
inline settle(s, c) {
    look_behind(s);
    k = true;
    do
    :: k -> tend(s, c)
    :: else -> break
    od;
    if
    :: linked[s] && wanted[s] && !listing[s] ->
        wanted[s] = false;
        listing[s] = true;
        if
        :: node[s] == NODE_ASKED || (entered[s] && (company[s] == UNKNOWN || mutant == 3)) -> request[s] ! ATTEND(0)
        :: else -> request[s] ! LIST(0)
        fi
    :: else
    fi;
    /* When nothing is on its way, who holds has a node, and no place is idle with somebody behind it. */
    if
    :: linked[s] && seen_to[s] == committed && len(request[s]) == 0 && len(answer[s]) == 0 ->
        assert(holder[s] == NOBODY || (there & BIT(name[s])));
        find_behind(s);
        assert(!idle[s] || !others)
    :: else
    fi;
    c = 0; at = 0; k = 0; found = false; others = 0
}

/* ---- clients: answers */

inline find_lost(s) {
    found = false;
    for (at : 0 .. NODES - 1) {
        if
        :: (snapshot[s] & BIT(at)) && made_by[at] == s && made_as[at] == number[s] ->
            found = true;
            name[s] = at
        :: else
        fi
    }
    node[s] = (found -> NODE_THERE : NODE_NONE)
}

inline nearest_before(s) {
    blocker[s] = NOBODY;
    others = snapshot[s] & (BIT(name[s]) - 1) & ~erasing[s];
    for (at : 0 .. NODES - 1) {
        blocker[s] = ((others & BIT(at)) -> at : blocker[s])
    }
}

inline listed(s, nodes, attended) {
    listing[s] = false;
    stale[s] = false;
    current[s] = attended;
    snapshot[s] = nodes;
    if
    :: node[s] == NODE_LOST -> find_lost(s)
    :: else
    fi;
    if
    :: node[s] == NODE_THERE && !(nodes & BIT(name[s])) -> lose(s)
    :: node[s] == NODE_THERE && (nodes & BIT(name[s])) && !entered[s] ->
        nearest_before(s);
        if
        :: blocker[s] == NOBODY && len(waiting[s]) > 0 ->
            entered[s] = true;
            ask_watch(s, name[s]);
            look_behind(s)
        :: blocker[s] != NOBODY && len(waiting[s]) > 0 ->
            ask_watch(s, blocker[s]);
            ask_watch(s, name[s])
        :: else
        fi
    :: else
    fi
}

/* Nobody was before its node, nor behind it. Only the first is still known: who comes later comes behind it. */
inline made_only(s, n) {
    if
    :: len(waiting[s]) > 0 ->
        entered[s] = true;
        ask_watch(s, n);
        company[s] = (mutant == 10 -> ALONE : UNKNOWN);
        current[s] = mutant == 10 || current[s];
        stale[s] = stale[s] && mutant != 10
    :: else
    fi
}

inline no_more(s, n) {
    asked[s] = asked[s] & ~BIT(n);
    armed[s] = armed[s] & ~BIT(n);
    if
    :: n == name[s] -> lose(s)
    :: n != name[s] && n == blocker[s] -> blocker[s] = NOBODY; wanted[s] = true
    :: else
    fi
}

inline retire(s, n) {
    erasing[s] = erasing[s] & ~BIT(n);
    snapshot[s] = snapshot[s] & ~BIT(n);
    armed[s] = armed[s] & ~BIT(n)
}

/* ---- clients: the link */

/* `relinked`: another handle of the library, which does not know how far the servers were, and has no watches. */
inline cut(s, relinked) {
    do
    :: request[s] ? _, _
    :: empty(request[s]) -> break
    od;
    do
    :: answer[s] ? _, _, _
    :: empty(answer[s]) -> break
    od;
    linked[s] = false;
    watch[s] = 0;
    folder_watch[s] = false;
    asked[s] = 0;
    listing[s] = false;
    stale[s] = true;
    current[s] = (relinked -> false : current[s]);
    armed[s] = (relinked -> 0 : armed[s]);
    known[s] = (relinked -> 0 : known[s]);
    node[s] = (node[s] == NODE_ASKED -> NODE_LOST : node[s]);
    if
    :: idle[s] -> drop(s)
    :: else
    fi
}

inline link(s) {
    seen_to[s] = 0;
    view[s] = 0;
    do
    :: seen_to[s] < known[s] -> advance(s)
    :: seen_to[s] >= known[s] && seen_to[s] < committed -> advance(s)
    :: seen_to[s] >= known[s] -> break
    od;
    for (at : 0 .. NODES - 1) {
        if
        :: (armed[s] & BIT(at)) && (view[s] & BIT(at)) -> watch[s] = watch[s] | BIT(at)
        :: (armed[s] & BIT(at)) && !(view[s] & BIT(at)) -> answer[s] ! DELETED(at, seen_to[s])
        :: else
        fi
    }
    linked[s] = true;
    trusted[s] = true;
    current[s] = false;
    if
    :: holder[s] != NOBODY -> assert_alone(s)
    :: else
    fi
}

/* A read behind the barrier tells nothing older than what any server has told before. */
inline resume(s) {
    if
    :: mutant != 2 -> request[s] ! BARRIER(0)
    :: else
    fi;
    for (at : 0 .. NODES - 1) {
        if
        :: erasing[s] & BIT(at) -> request[s] ! ERASE(at)
        :: else
        fi
    }
    wanted[s] = (node[s] != NODE_NONE);
    if
    :: entered[s] -> ask_watch(s, name[s])
    :: else
    fi
}

/* A new session: the nodes went with the old one. */
inline renew(s) {
    alive[s] = true;
    snapshot[s] = 0;
    erasing[s] = 0;
    if
    :: node[s] != NODE_NONE -> lose(s)
    :: else
    fi;
    armed[s] = 0
}

/* ---- the processes */

proctype Client(byte s) {
    mtype what;
    byte c, log_length;
    short n;
end:
    do
    :: atomic {
        if
        :: answer[s] ? what(n, log_length) ->
            known[s] = log_length;
            heard[s] = (log_length > heard[s] -> log_length : heard[s]);
            if
            :: what == MADE || what == ONLY ->
                name[s] = n;
                node[s] = NODE_THERE;
                if
                :: what == ONLY -> made_only(s, n)
                :: else -> wanted[s] = wanted[s] || s < firsts
                fi
            :: what == ERASED -> retire(s, n)
            :: what == LISTED -> listed(s, n, false)
            :: what == ATTENDED -> listed(s, n, true)
            :: what == FOUND ->
                asked[s] = asked[s] & ~BIT(n);
                armed[s] = armed[s] | BIT(n)
            :: what == NONE || what == DELETED -> no_more(s, n)
            :: what == CHANGED -> current[s] = false
            :: what == DONE
            fi
        :: !linked[s] ->
            if
            :: !alive[s] -> renew(s)
            :: else
            fi;
            link(s);
            resume(s)
        :: timer[s] -> /* it has lingered; if it is in use again, the timer is of the past */
            timer[s] = false;
            if
            :: idle[s] -> drop(s)
            :: !idle[s] && mutant == 6 -> erase(s, name[s])
            :: else
            fi
        fi;
        settle(s, c);
        what = 0; c = 0; n = 0; log_length = 0
    }
    od
}

inline end_hold(s, me) {
    phase[me] = IDLE;
    holder[s] = NOBODY
}

proctype Caller(byte me) {
    byte c;
    do
    :: atomic {
        if
        :: phase[me] == IDLE && rounds[me] < ROUNDS(me) ->
            rounds[me]++;
            phase[me] = WAITING;
            waiting[SESSION(me)] ! me
        :: phase[me] == HELD -> /* nothing of it is under way */
            end_hold(SESSION(me), me)
        :: phase[me] == HELD && abandons > 0 -> /* max_hold, an error: something may be */
            abandons--;
            tainted[name[SESSION(me)]] = true;
            sealed[SESSION(me)] = (mutant != 7);
            end_hold(SESSION(me), me)
        :: phase[me] == WAITING && cancels > 0 ->
            cancels--;
            answers[me]++;
            waiting[SESSION(me)] ?? eval(me);
            phase[me] = IDLE
        :: phase[me] == IDLE && again > 0 && rounds[me] > 0 -> /* a release that comes late */
            again--;
            holder[SESSION(me)] = (mutant == 5 -> NOBODY : holder[SESSION(me)])
        fi;
        settle(SESSION(me), c) }
    :: phase[me] == IDLE && rounds[me] == ROUNDS(me) -> break
    od;
    assert(answers[me] == rounds[me])
}

proctype Fate() {
    byte s, n;
end:
    do
    :: atomic { cuts > 0 ->
        cuts--;
        select(s : 0 .. LAST_SESSION);
        if
        :: linked[s] -> cut(s, false)
        :: else
        fi;
        s = 0 }
    :: atomic { stints > 0 && (entered[0] || entered[1] || entered[2]) ->
        stints--;
        for (s : 0 .. LAST_SESSION) { pass_stint(s) }
        s = 0; at = 0; others = 0 }
    :: atomic { relinks > 0 && linked[0] ->
        relinks--;
        cut(0, true) }
    :: atomic { operators > 0 && there != 0 ->
        operators--;
        select(n : 0 .. NODES - 1);
        if
        :: there & BIT(n) -> commit_delete(n, true)
        :: else
        fi;
        n = 0 }
    :: atomic { expiries > 0 ->
        expiries--;
        select(s : 0 .. LAST_SESSION);
        if
        :: !linked[s] ->
            trusted[s] = false;
            alive[s] = false;
            for (n : 0 .. NODES - 1) {
                if
                :: (there & BIT(n)) && made_by[n] == s -> commit_delete(n, false)
                :: else
                fi
            }
        :: else
        fi;
        s = 0;
        n = 0 }
    od
}

#define AT_REST(s) (node[s] == NODE_NONE && erasing[s] == 0)

init {
    byte n;
    atomic {
        read_settings();
        for (n : 0 .. LAST_SESSION) {
            linked[n] = true;
            trusted[n] = true;
            alive[n] = true;
            name[n] = NOBODY;
            blocker[n] = NOBODY;
            holder[n] = NOBODY;
            run Server(n);
            run Client(n)
        }
        run Fate();
        for (n : 0 .. LAST) { run Caller(n) }
    }
    (_nr_pr == 2 * (LAST_SESSION + 1) + 2 && AT_REST(0) && AT_REST(1) && AT_REST(2)) -> assert(there == 0)
}
