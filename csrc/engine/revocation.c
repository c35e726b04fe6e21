#include "revocation.h"

#include <stdio.h>
#include <stdlib.h>
#include <zookeeper/zookeeper.h>

static void finish(zkl_revocation *revocation, zkl_status status) {
    revocation->done = true;
    revocation->status = status;
}

static void answered(zkl_subject *subject, const zkl_return *asked, const zkl_reply *reply) {
    (void)asked;
    zkl_revocation *revocation = (zkl_revocation *)subject;
    if (revocation->done)
        return;
    if (zkl_status_passes(reply->rc)) {
        revocation->sent = false; /* all are asked again: it does no harm */
        return;
    }
    revocation->asked += reply->rc == ZOK; /* otherwise it has just left */
    if (reply->rc != ZOK && reply->rc != ZNONODE)
        finish(revocation, zkl_status_of(reply->rc));
    else if (--revocation->open == 0)
        finish(revocation, ZKL_OK);
}

static int ask(zkl_revocation *revocation, const zkl_roster *roster, const char *node) {
    zkl_port *port = roster->floor->port;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", roster->path, node) < 0)
        return ZMARSHALLINGERROR;
    const zkl_return back = {revocation->subject.id, 0, 0};
    const int rc = port->call->set(port, path, ZKL_REVOKE, back);
    free(path);
    return rc;
}

void zkl_revocation_step(zkl_revocation *revocation, const zkl_roster *roster) {
    if (revocation->sent || revocation->done || !roster->floor->port)
        return;
    revocation->subject.answer = answered;
    zkl_subject_enter(&roster->floor->subjects, &revocation->subject);
    revocation->open = revocation->asked = 0;
    zkl_participant participant;
    for (size_t i = 0; zkl_roster_at(roster, i, &participant); i++) {
        if (!participant.holder)
            continue;
        const int rc = ask(revocation, roster, participant.node);
        if (rc != ZOK) {
            finish(revocation, rc == ZMARSHALLINGERROR ? ZKL_NO_MEMORY : zkl_status_of(rc));
            return;
        }
        revocation->open++;
    }
    revocation->sent = true;
    if (!revocation->open)
        finish(revocation, ZKL_OK);
}

void zkl_revocation_stop(zkl_revocation *revocation, zkl_floor *floor) {
    zkl_subject_leave(&floor->subjects, &revocation->subject);
    revocation->sent = false;
}
