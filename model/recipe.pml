/* SPDX-License-Identifier: MIT */
/* The mutex of docs/internals/protocol.md, small enough that every order of events is tried: callers in a few sessions, a log of
 * what the servers have committed, and for each session a server whose view of that log may lag behind.
 *
 * model/run.sh has the courses: how many callers there are, how many of them are in the first session, how often each
 * acquires, and how many cuts, cancels, deletions by operators and expiries there may be in all. They come from the
 * environment, so that the checker is compiled once.
 *
 * Sessions below FIRST have `setData` of the directory behind each create, in the same transaction: its answer tells
 * whether the new node is the only one, which grants without a list. With ACLS, a grant waits for the directory's ACL,
 * too. The number END is the last one that the directory's counter gives out; those after it are below zero.
 *
 * A mutant is a rule that is left out, by its number; model/run.sh says which, and each of them must be seen to fail.
 *
 * This must hold, always: one holder who believes in his session, and whose node no operator has deleted; tokens rise
 * from holder to holder; nobody is granted when his client has heard of what came after the deletion of his own node;
 * who holds is told when his node is deleted. In the end: every call was answered once, no node is left. */

#define CALLERS 3 /* at most, as of the rest */
#define SESSIONS 3
#define NODES 10

byte callers, shared, rounds_most, firsts, end_number, mutant;
bool acls;
byte cuts, cancels, operators, expiries; /* still to come */

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
        now.acls = setting("ACLS");
        now.end_number = getenv("END") ? setting("END") : NODES;
        now.mutant = setting("MUTANT");
        now.cuts = setting("CUTS");
        now.cancels = setting("CANCELS");
        now.operators = setting("OPERATORS");
        now.expiries = setting("EXPIRIES");
    }
}

#define SESSION(c) (c < shared -> 0 : c - shared + 1)
#define LAST (callers - 1)

/* Nodes are called by their sequences. */
#define NOBODY 255
#define BIT(node) (1 << (node))

/* ---- the servers: a log of creates and deletes, and of whom each node is */

byte log[2 * NODES]; /* 2 * node, and 1 if it was deleted */
byte committed;      /* entries in the log */
byte made;           /* nodes so far */
short there;         /* those that are there now, as bits */
byte made_by[NODES], made_as[NODES]; /* the caller, and the number of his create: its GUID */
byte token[NODES];                   /* its transaction: its place in the log, and 1 */
byte deleted_at[NODES];              /* likewise */
bool deleted_by_operator[NODES];

/* ---- what each session's server knows */

byte seen_to[SESSIONS]; /* how much of the log */
short view[SESSIONS];   /* the nodes, after that much */
short watch[SESSIONS];  /* nodes that are watched there */

/* ---- the wire; both ways in order. The length of the log in an answer is what a client has seen. */

mtype = { CREATE, ERASE, LIST, GET, ACL, BARRIER };                  /* requests */
mtype = { MADE, ALONE, ERASED, LISTED, FOUND, NONE, CHECKED, DONE }; /* answers */
mtype = { DELETED };                                /* what a watch tells */

chan request[SESSIONS] = [8] of { mtype, byte, byte };     /* what, caller, node or GUID */
chan answer[SESSIONS] = [12] of { mtype, byte, short, byte }; /* what, caller, node or nodes, log */

/* ---- the clients: of each session ... */

bool linked[SESSIONS], trusted[SESSIONS], alive[SESSIONS];
byte known[SESSIONS];     /* how much of the log it has seen: no server that knows less takes the session */
short snapshot[SESSIONS]; /* the nodes as last listed, less those that have gone since */
short armed[SESSIONS], asked[SESSIONS]; /* watches, of others and own */
bool stale[SESSIONS], listing[SESSIONS], wanted[SESSIONS], lagging[SESSIONS], barred[SESSIONS];
bool checking[SESSIONS], checked[SESSIONS]; /* it asks for the ACL, and knows it */

/* ... and of each caller */

#define IDLE 0
#define WAITING 1
#define HELD 2
#define OVER 3

#define NODE_NONE 0
#define NODE_ASKED 1
#define NODE_LOST 2
#define NODE_THERE 3
#define NODE_ERASING 4

byte phase[CALLERS], node[CALLERS], name[CALLERS], blocker[CALLERS], second[CALLERS], rounds[CALLERS];
byte guid[CALLERS];
byte answers[CALLERS]; /* what it was told: granted, or cancelled, or that the session is over */
bool first[CALLERS];
byte highest; /* the token that was granted last */

/* The things to look at when the event is taken in, as bits. */
#define LOOK 1      /* who stands before it: its blocker has gone */
#define SHOWN 2     /* the same, and a list has just shown its own node */
#define CONFIRMED 4 /* its own node is there: perhaps granted */
#define NEXT 8      /* the node before its blocker has gone */
#define PROVEN 16   /* its create has just been answered: it is alone */

byte due[CALLERS];

hidden byte i, j, k; /* of loops, in one step */
hidden byte at, high, low;
hidden byte found;
hidden short before;

/* ---- servers */

/* The server learns of one more entry. */
inline advance(s) {
    at = log[seen_to[s]] / 2;
    if
    :: log[seen_to[s]] % 2 == 0 -> view[s] = view[s] | BIT(at)
    :: else ->
        view[s] = view[s] & ~BIT(at);
        if
        :: watch[s] & BIT(at) ->
            watch[s] = watch[s] & ~BIT(at);
            answer[s] ! DELETED(NOBODY, at, seen_to[s] + 1)
        :: else
        fi
    fi;
    seen_to[s] = seen_to[s] + 1
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

#define IS_ONE(nodes) ((nodes) && !((nodes) & ((nodes) - 1)))

/* Mutant 21: creates of one session that follow each other are in one transaction. */
inline commit_create(c, number) {
    assert(made < NODES);
    found = (mutant == 21 && made > 0 && SESSION(made_by[made - 1]) == SESSION(c) && log[committed - 1] == 2 * (made - 1));
    log[committed] = 2 * made;
    committed++;
    there = there | BIT(made);
    made_by[made] = c;
    made_as[made] = number;
    token[made] = (found -> token[made - 1] : committed);
    made++
}

inline serve(s, what, c, n) {
    if
    :: what == CREATE ->
        before = there;
        commit_create(c, n);
        catch_up(s);
        if
        :: s < firsts && IS_ONE((mutant == 20 -> before : there)) -> answer[s] ! ALONE(c, made - 1, seen_to[s])
        :: else -> answer[s] ! MADE(c, made - 1, seen_to[s])
        fi
    :: what == ACL -> answer[s] ! CHECKED(c, 0, seen_to[s])
    :: what == ERASE ->
        if
        :: there & BIT(n) -> commit_delete(n, false)
        :: else
        fi;
        catch_up(s);
        answer[s] ! ERASED(c, n, seen_to[s])
    :: what == BARRIER ->
        catch_up(s);
        answer[s] ! DONE(c, 0, seen_to[s])
    :: what == LIST -> answer[s] ! LISTED(c, view[s], seen_to[s])
    :: what == GET ->
        if
        :: view[s] & BIT(n) ->
            watch[s] = watch[s] | BIT(n);
            answer[s] ! FOUND(c, n, seen_to[s])
        :: else ->
            if
            :: mutant == 2 -> answer[s] ! FOUND(c, n, seen_to[s])
            :: else -> answer[s] ! NONE(c, n, seen_to[s])
            fi
        fi
    fi
}

proctype Server(byte s) {
    mtype what;
    byte c, n;
end:
    do
    :: atomic { request[s] ? what(c, n) -> serve(s, what, c, n) }
    :: atomic { linked[s] && seen_to[s] < committed -> advance(s) }
    od
}

/* ---- clients: requests */

inline send(s, what, c, n) { request[s] ! what(c, n) }

inline ask_create(c) {
    if
    :: linked[SESSION(c)] ->
        guid[c]++;
        name[c] = NOBODY;
        node[c] = NODE_ASKED;
        send(SESSION(c), CREATE, c, guid[c]);
        wanted[SESSION(c)] = wanted[SESSION(c)] || SESSION(c) >= firsts || snapshot[SESSION(c)]
    :: else
    fi
}

inline ask_watch(s, n) {
    if
    :: linked[s] && !((armed[s] | asked[s]) & BIT(n)) ->
        asked[s] = asked[s] | BIT(n);
        send(s, GET, NOBODY, n)
    :: else
    fi
}

#define IS_MINE(s, n) (SESSION(made_by[n]) == s && name[made_by[n]] == n)

/* A caller that deletes its own node looks at what follows from it at once: our requests are carried out in order. */
inline ask_erase(c) {
    if
    :: linked[SESSION(c)] && node[c] == NODE_THERE ->
        node[c] = NODE_ERASING;
        send(SESSION(c), ERASE, c, name[c]);
        gone(SESSION(c), name[c])
    :: else
    fi
}

/* A node is gone, or its delete is on the wire: whoever stood behind it is looked at. */
inline gone(s, n) {
    if
    :: n != NOBODY && (snapshot[s] & BIT(n)) ->
        snapshot[s] = snapshot[s] & ~BIT(n);
        armed[s] = armed[s] & ~BIT(n);
        asked[s] = asked[s] & ~BIT(n);
        for (k : 0 .. LAST) {
            if
            :: SESSION(k) == s && phase[k] == WAITING && blocker[k] == n ->
                due[k] = due[k] | LOOK
            :: SESSION(k) == s && phase[k] == WAITING && blocker[k] != n && second[k] == n ->
                second[k] = NOBODY;
                due[k] = due[k] | NEXT
            :: else
            fi
        }
    :: else
    fi
}

/* ---- clients: the end of a wait or a hold */

inline forget(c) {
    first[c] = false;
    blocker[c] = NOBODY;
    second[c] = NOBODY;
    due[c] = 0
}

inline retire(c) {
    if
    :: mutant != 15 -> gone(SESSION(c), name[c])
    :: else
    fi;
    node[c] = NODE_NONE;
    name[c] = NOBODY;
    phase[c] = IDLE
}

/* The node is not there any more, and not by our doing. */
inline missing(s, c) {
    armed[s] = armed[s] & ~BIT(name[c]);
    asked[s] = asked[s] & ~BIT(name[c]);
    gone(s, name[c]);
    node[c] = NODE_NONE;
    forget(c);
    if
    :: phase[c] == WAITING -> ask_create(c)
    :: else ->
        name[c] = NOBODY;
        phase[c] = IDLE
    fi
}

inline end_it(c) {
    phase[c] = OVER;
    forget(c);
    if
    :: node[c] == NODE_NONE -> retire(c)
    :: node[c] == NODE_THERE -> ask_erase(c)
    :: else /* its create's answer, or the list, runs it again */
    fi
}

/* ---- clients: answers */

inline created(s, c, n, alone) {
    name[c] = n;
    node[c] = NODE_THERE;
    if
    :: phase[c] == OVER && mutant != 6 -> ask_erase(c)
    :: phase[c] == OVER && mutant == 6 -> retire(c)
    :: phase[c] == WAITING && s < firsts && (alone || mutant == 18) -> due[c] = due[c] | PROVEN
    :: phase[c] == WAITING && s < firsts && !(alone || mutant == 18) -> wanted[s] = wanted[s] || mutant != 19
    :: else
    fi
}

/* A caller that is first, and waited for this, may hold if its own node is watched. */
inline check_passed(s) {
    checked[s] = true;
    for (j : 0 .. LAST) {
        if
        :: SESSION(j) == s && phase[j] == WAITING && first[j] -> due[j] = due[j] | (mutant == 22 -> PROVEN : CONFIRMED)
        :: else
        fi
    }
}

/* The node of a create whose answer was lost, if the list shows it. */
inline find_lost(s, c) {
    found = false;
    for (at : 0 .. NODES - 1) {
        if
        :: (snapshot[s] & BIT(at)) && made_by[at] == c && made_as[at] == guid[c] ->
            found = true;
            name[c] = at
        :: else
        fi
    }
    if
    :: found ->
        node[c] = NODE_THERE;
        due[c] = due[c] | LOOK
    :: !found && barred[s] ->
        name[c] = NOBODY;
        node[c] = NODE_NONE;
        if
        :: phase[c] == WAITING -> ask_create(c)
        :: else -> phase[c] = IDLE
        fi
    :: else -> wanted[s] = true
    fi
}

inline listed(s, nodes) {
    snapshot[s] = nodes;
    listing[s] = false;
    stale[s] = false;
    lagging[s] = false;
    for (j : 0 .. LAST) {
        if
        :: SESSION(j) == s && node[j] == NODE_LOST -> find_lost(s, j)
        :: SESSION(j) == s && node[j] == NODE_THERE && !(nodes & BIT(name[j])) -> missing(s, j)
        :: SESSION(j) == s && node[j] == NODE_THERE && (nodes & BIT(name[j])) -> due[j] = due[j] | SHOWN
        :: else
        fi
    }
}

inline own_of(s, n) {
    found = false;
    for (at : 0 .. LAST) {
        if
        :: !found && SESSION(at) == s && name[at] == n ->
            found = true;
            i = at
        :: else
        fi
    }
}

inline read(s, n) {
    asked[s] = asked[s] & ~BIT(n);
    armed[s] = armed[s] | BIT(n);
    own_of(s, n);
    if
    :: found -> due[i] = due[i] | CONFIRMED
    :: else
    fi
}

inline not_found(s, n) {
    asked[s] = asked[s] & ~BIT(n);
    own_of(s, n);
    if
    :: found && node[i] == NODE_THERE -> missing(s, i)
    :: found && node[i] != NODE_THERE
    :: !found && mutant != 3 ->
        lagging[s] = true;
        gone(s, n)
    :: else
    fi
}

inline told(s, n) {
    own_of(s, n);
    if
    :: found ->
        armed[s] = armed[s] & ~BIT(n);
        if
        :: node[i] == NODE_THERE && mutant != 13 -> missing(s, i)
        :: else
        fi
    :: !found && (snapshot[s] & BIT(n)) && (armed[s] & BIT(n)) -> gone(s, n)
    :: !found && (snapshot[s] & BIT(n)) && !(armed[s] & BIT(n)) -> wanted[s] = true
    :: else -> armed[s] = armed[s] & ~BIT(n)
    fi
}

/* ---- clients: the end of each step, in which everybody who is concerned is looked at */

/* The nearest in a set of nodes, or NOBODY. */
inline nearest(nodes, result) {
    result = NOBODY;
    for (at : 0 .. NODES - 1) {
        if
        :: (nodes) & BIT(at) -> result = at
        :: else
        fi
    }
}

#define COUNTED (2 * BIT(end_number) - 1) /* those with numbers from 0 on: the others are before them */

inline neighbours(s, c) {
    before = snapshot[s] & (name[c] > end_number -> (BIT(name[c]) - 1) & ~COUNTED : (BIT(name[c]) - 1) | ~COUNTED);
    nearest(before, high);
    low = NOBODY;
    if
    :: high != NOBODY -> nearest(before & ~BIT(high), low)
    :: else
    fi
}

#define SURE(c) (phase[c] == HELD && trusted[SESSION(c)] && !deleted_by_operator[name[c]])

inline assert_alone(c) {
    for (at : 0 .. LAST) {
        assert(at == c || !SURE(at) || !SURE(c))
    }
}

/* When nothing is on its way, who holds has a node. */
inline assert_told(s) {
    for (at : 0 .. LAST) {
        assert(SESSION(at) != s || phase[at] != HELD || node[at] != NODE_THERE || (there & BIT(name[at])))
    }
}

/* Sets `high` and `low`, the two that stand before it. */
inline place_of(s, c) {
    neighbours(s, c);
    blocker[c] = high;
    second[c] = NOBODY;
    first[c] = (high == NOBODY || (mutant == 5 && !(due[c] & SHOWN)));
    if
    :: first[c] -> blocker[c] = NOBODY
    :: !first[c] && lagging[s] && !(due[c] & SHOWN) ->
        blocker[c] = NOBODY;
        wanted[s] = true
    :: !first[c] && !(lagging[s] && !(due[c] & SHOWN)) -> second[c] = low
    :: else
    fi
}

inline watch_ahead(s, c) {
    for (at : 1 .. 3) {
        high = (at == 1 -> blocker[c] : (at == 2 -> second[c] : (blocker[c] == NOBODY -> NOBODY : name[c])));
        if
        :: high != NOBODY && (at == 3 || !IS_MINE(s, high)) -> ask_watch(s, high)
        :: else
        fi
    }
}

#define CHECKED_ACL(s) (!acls || checked[s])

inline grant(s, c) {
    if
    :: first[c] && node[c] == NODE_THERE && mutant != 1 &&
            (!(due[c] & (SHOWN | PROVEN)) || !CHECKED_ACL(s)) && !(armed[s] & BIT(name[c])) ->
        ask_watch(s, name[c])
    :: first[c] && node[c] == NODE_THERE && trusted[s] && CHECKED_ACL(s) &&
            (mutant == 1 || (due[c] & (SHOWN | PROVEN)) || (armed[s] & BIT(name[c]))) ->
        assert(deleted_at[name[c]] == 0 || deleted_at[name[c]] > known[s]);
        assert(token[name[c]] > highest || deleted_by_operator[name[c]]);
        highest = (token[name[c]] > highest -> token[name[c]] : highest);
        phase[c] = HELD;
        answers[c]++;
        assert_alone(c);
        ask_watch(s, name[c])
    :: else /* not trusted: the session's next proof comes back here */
    fi
}

inline look(s, c) {
    if
    :: due[c] & PROVEN -> first[c] = true
    :: !(due[c] & PROVEN) && (due[c] & (LOOK | SHOWN)) && node[c] == NODE_THERE && !stale[s] &&
            (snapshot[s] & BIT(name[c])) ->
        place_of(s, c);
        watch_ahead(s, c)
    :: (due[c] & NEXT) && !(due[c] & (LOOK | SHOWN)) ->
        neighbours(s, c);
        if
        :: low != NOBODY && !IS_MINE(s, low) -> wanted[s] = true
        :: low != NOBODY && IS_MINE(s, low) -> second[c] = low
        :: else
        fi
    :: else
    fi;
    grant(s, c)
}

/* Numbers at the counter's end say nothing about who came first. */
#define IS_USED_UP(c) (node[c] == NODE_THERE && name[c] >= end_number && mutant != 23)

/* The end of each step: what is due is looked at, what is wanted is asked for. */
inline settle(s) {
    for (j : 0 .. LAST) {
        if
        :: SESSION(j) == s && due[j] && phase[j] == WAITING && IS_USED_UP(j) ->
            answers[j]++;
            phase[j] = OVER;
            forget(j);
            due[j] = LOOK
        :: else
        fi;
        if
        :: SESSION(j) == s && due[j] && phase[j] == WAITING -> look(s, j)
        :: SESSION(j) == s && due[j] && phase[j] == OVER -> ask_erase(j)
        :: else
        fi;
        due[j] = (SESSION(j) == s -> 0 : due[j])
    }
    if
    :: wanted[s] && !listing[s] && linked[s] ->
        wanted[s] = false;
        listing[s] = true;
        barred[s] = false;
        for (j : 0 .. LAST) {
            barred[s] = barred[s] || (SESSION(j) == s && node[j] == NODE_LOST)
        }
        if
        :: barred[s] && mutant != 4 -> send(s, BARRIER, NOBODY, 0)
        :: else
        fi;
        send(s, LIST, NOBODY, 0)
    :: else
    fi;
    if
    :: acls && !checking[s] && linked[s] ->
        checking[s] = true;
        send(s, ACL, NOBODY, 0)
    :: else
    fi;
    if
    :: linked[s] && seen_to[s] == committed && len(request[s]) == 0 && len(answer[s]) == 0 -> assert_told(s)
    :: else
    fi;
    found = false;
    at = 0; high = 0; low = 0; before = 0; i = 0; j = 0; k = 0
}

/* ---- clients: the link */

inline cut(s) {
    do
    :: request[s] ? _, _, _
    :: empty(request[s]) -> break
    od;
    do
    :: answer[s] ? _, _, _, _
    :: empty(answer[s]) -> break
    od;
    linked[s] = false;
    watch[s] = 0;
    asked[s] = 0;
    listing[s] = false;
    checking[s] = checked[s];
    stale[s] = true;
    for (j : 0 .. LAST) {
        if
        :: SESSION(j) == s ->
            forget(j);
            if
            :: node[j] == NODE_ASKED -> node[j] = (mutant == 7 -> NODE_NONE : NODE_LOST)
            :: node[j] == NODE_ERASING -> node[j] = NODE_THERE
            :: else
            fi
        :: else
        fi
    }
}

/* A server takes the session that knows what it has seen at least; the library sets its watches again. */
inline link(s) {
    seen_to[s] = 0;
    view[s] = 0;
    do
    :: seen_to[s] < known[s] -> advance(s)
    :: seen_to[s] >= known[s] && seen_to[s] < committed -> advance(s)
    :: seen_to[s] >= known[s] -> break
    od;
    for (j : 0 .. NODES - 1) {
        if
        :: (armed[s] & BIT(j)) && (view[s] & BIT(j)) -> watch[s] = watch[s] | BIT(j)
        :: (armed[s] & BIT(j)) && !(view[s] & BIT(j)) -> answer[s] ! DELETED(NOBODY, j, seen_to[s])
        :: else
        fi
    }
    linked[s] = true;
    trusted[s] = true;
    for (j : 0 .. LAST) {
        if
        :: SESSION(j) == s && phase[j] == HELD -> assert_alone(j)
        :: else
        fi
    }
}

inline resume(s) {
    for (i : 0 .. LAST) {
        if
        :: SESSION(i) == s && node[i] == NODE_NONE && phase[i] == WAITING -> ask_create(i)
        :: SESSION(i) == s && node[i] == NODE_THERE && phase[i] == OVER && mutant != 10 -> due[i] = LOOK
        :: SESSION(i) == s && node[i] == NODE_THERE && phase[i] == HELD -> ask_watch(s, name[i])
        :: SESSION(i) == s && (node[i] == NODE_LOST || (node[i] == NODE_THERE && phase[i] == WAITING)) ->
            wanted[s] = true
        :: else
        fi
    }
}

/* A new session: the nodes went with the old one. */
inline renew(s) {
    alive[s] = true;
    armed[s] = 0;
    snapshot[s] = 0;
    wanted[s] = false;
    for (j : 0 .. LAST) {
        if
        :: SESSION(j) == s && phase[j] != IDLE ->
            node[j] = NODE_NONE;
            name[j] = NOBODY;
            phase[j] = (phase[j] == WAITING && mutant != 12 -> WAITING : IDLE)
        :: else
        fi
    }
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
        :: answer[s] ? what(c, n, log_length) ->
            known[s] = log_length;
            if
            :: what == MADE || what == ALONE -> created(s, c, n, what == ALONE)
            :: what == CHECKED -> check_passed(s)
            :: what == ERASED -> retire(c)
            :: what == LISTED -> listed(s, n)
            :: what == FOUND -> read(s, n)
            :: what == NONE -> not_found(s, n)
            :: what == DONE
            :: what == DELETED -> told(s, n)
            fi
        :: !linked[s] ->
            if
            :: !alive[s] -> renew(s)
            :: else
            fi;
            link(s);
            resume(s)
        fi;
        settle(s);
        what = 0; c = 0; n = 0; log_length = 0
    }
    od
}

proctype Caller(byte me) {
    do
    :: atomic {
        if
        :: phase[me] == IDLE && rounds[me] < rounds_most ->
            rounds[me]++;
            phase[me] = WAITING;
            ask_create(me)
        :: phase[me] == HELD || (phase[me] == WAITING && cancels > 0) ->
            answers[me] = answers[me] + (phase[me] == HELD -> 0 : 1);
            cancels = cancels - (phase[me] == HELD -> 0 : 1);
            end_it(me)
        fi;
        settle(SESSION(me)) }
    :: phase[me] == IDLE && rounds[me] == rounds_most -> break
    od;
    assert(answers[me] == rounds[me])
}

proctype Fate() {
    byte s, n;
end:
    do
    :: atomic { cuts > 0 ->
        cuts--;
        select(s : 0 .. SESSION(LAST));
        if
        :: linked[s] -> cut(s)
        :: else
        fi;
        s = 0 }
    :: atomic { operators > 0 && there != 0 ->
        operators--;
        select(n : 0 .. NODES - 1);
        if
        :: there & BIT(n) -> commit_delete(n, true)
        :: else
        fi;
        n = 0 }
    /* Nobody believes in a session that the servers may end: validity_model_test.c sees to that. */
    :: atomic { expiries > 0 ->
        expiries--;
        select(s : 0 .. SESSION(LAST));
        if
        :: !linked[s] ->
            trusted[s] = (mutant == 11 -> trusted[s] : false);
            alive[s] = false;
            for (n : 0 .. NODES - 1) {
                if
                :: (there & BIT(n)) && SESSION(made_by[n]) == s -> commit_delete(n, false)
                :: else
                fi
            }
        :: else
        fi;
        s = 0;
        n = 0 }
    od
}

init {
    byte n;
    atomic {
        read_settings();
        for (n : 0 .. SESSION(LAST)) {
            linked[n] = true;
            trusted[n] = true;
            alive[n] = true;
            run Server(n);
            run Client(n)
        }
        for (n : 0 .. LAST) {
            name[n] = NOBODY;
            blocker[n] = NOBODY;
            second[n] = NOBODY
        }
        run Fate();
        for (n : 0 .. LAST) { run Caller(n) }
    }
    (_nr_pr == 2 * (SESSION(LAST) + 1) + 2) -> assert(there == 0)
}
