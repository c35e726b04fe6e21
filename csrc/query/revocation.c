#include "query/revocation.h"

#include <stdio.h>
#include <stdlib.h>
#include <zookeeper/zookeeper.h>

static void finish(zkl_revocation *revocation, zkl_status status) {
    revocation->done = true;
    revocation->status = status;
}

static int ask(zkl_revocation *revocation, const char *node) {
    const zkl_roster *roster = revocation->roster;
    zkl_port *port = roster->floor->port;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", roster->path, node) < 0)
        return ZMARSHALLINGERROR;
    const zkl_return back = {revocation->subject.id, 0, 0};
    const int rc = port->call->set(port, path, ZKL_REVOKE, back);
    free(path);
    return rc;
}

/* All who held have been written to. */
static void sum_up(zkl_revocation *revocation) {
    if (revocation->asked || !revocation->gone) {
        finish(revocation, ZKL_OK);
        return;
    }
    revocation->sent = false; /* the roster's next list tells who holds now */
    zkl_roster_again(revocation->roster);
}

/* Keeps the window full. */
static void go_on(zkl_revocation *revocation) {
    zkl_participant participant;
    int rc = ZOK;
    while (rc == ZOK && revocation->open < ZKL_ROSTER_WINDOW &&
           zkl_roster_at(revocation->roster, revocation->next, &participant)) {
        revocation->next++;
        if (!participant.holder)
            continue;
        rc = ask(revocation, participant.node);
        revocation->open += rc == ZOK;
    }
    if (rc == ZMARSHALLINGERROR)
        finish(revocation, ZKL_NO_MEMORY);
    else if (zkl_status_unknown(rc))
        zkl_revocation_stop(revocation, revocation->roster->floor); /* the next link asks again */
    else if (rc != ZOK)
        finish(revocation, zkl_status_of(rc));
    else if (!revocation->open)
        sum_up(revocation);
}

static void answered(zkl_subject *subject, const zkl_return *asked, const zkl_reply *reply) {
    (void)asked;
    zkl_revocation *revocation = (zkl_revocation *)subject;
    if (revocation->done)
        return;
    if (zkl_status_passes(reply->rc)) {
        zkl_revocation_stop(revocation,
                            revocation->roster->floor); /* all are asked again: it does no harm */
        return;
    }
    revocation->open--;
    revocation->asked += reply->rc == ZOK;
    revocation->gone += reply->rc == ZNONODE; /* it has just left */
    if (reply->rc != ZOK && reply->rc != ZNONODE)
        finish(revocation, zkl_status_of(reply->rc));
    else
        go_on(revocation);
}

void zkl_revocation_step(zkl_revocation *revocation, zkl_roster *roster) {
    if (revocation->sent || revocation->done || !roster->floor->port)
        return;
    revocation->roster = roster;
    revocation->subject.answer = answered;
    zkl_subject_enter(&roster->floor->subjects, &revocation->subject);
    revocation->next = revocation->open = revocation->gone = 0;
    revocation->sent = true;
    go_on(revocation);
}

void zkl_revocation_stop(zkl_revocation *revocation, zkl_floor *floor) {
    zkl_subject_leave(&floor->subjects, &revocation->subject);
    revocation->sent = false;
}
