#include "parents.h"

#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* A level that exists may answer NOAUTH instead of NODEEXISTS, when its own parent is closed to us. So a refusal counts
 * only if the node below cannot be made either: the line looks at `refused` then. */
static void answered(zkl_subject *subject, const zkl_return *asked, const zkl_reply *reply) {
    zkl_parents *parents = (zkl_parents *)subject;
    if ((unsigned)asked->detail != parents->round)
        return;
    switch (reply->rc) {
    case ZOK:
    case ZNODEEXISTS:
    case ZNONODE: /* the level above was cleared away meanwhile: the next round */
        return;
    case ZUNIMPLEMENTED:
        parents->floor->no_containers =
            true; /* servers before 3.5: the next round makes plain nodes */
        return;
    default:
        if (!zkl_status_passes(reply->rc))
            parents->refused = reply->rc;
    }
}

void zkl_parents_init(zkl_parents *parents, zkl_floor *floor, const char *path) {
    *parents = (zkl_parents){.floor = floor, .path = path};
    parents->subject.answer = answered;
    zkl_subject_enter(&floor->subjects, &parents->subject);
}

void zkl_parents_done(zkl_parents *parents) {
    zkl_subject_leave(&parents->floor->subjects, &parents->subject);
}

int zkl_parents_make(zkl_parents *parents) {
    zkl_floor *floor = parents->floor;
    const size_t length = strlen(parents->path);
    char *level = strdup(parents->path);
    int rc = level ? ZOK : ZMARSHALLINGERROR;
    parents->round++;
    parents->refused = ZOK;
    const zkl_return back = {parents->subject.id, 0, (int32_t)parents->round};
    for (size_t end = 1; rc == ZOK && end <= length; end++) {
        if (level[end] != '/' && level[end] != '\0')
            continue;
        const char cut = level[end];
        level[end] = '\0';
        const bool stays = end <= floor->chroot || floor->no_containers;
        rc = floor->port->call->create(floor->port, level, "",
                                       stays ? ZKL_PERSISTENT : ZKL_CONTAINER, floor->acl, back);
        level[end] = cut;
    }
    free(level);
    return rc;
}
