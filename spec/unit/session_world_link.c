/* SPDX-License-Identifier: MIT */
/* The links of a session_world, in the place of csrc/zookeeper/link.c, and its worker. */
#include "session_world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

session_world world;

static zkl_nanos clock_now(void) {
    return world.now;
}
const zkl_clock world_clock = {clock_now};

/* That of the link which the session has. */
static const zkl_port *the_port(void) {
    return world.session.link ? zkl_link_port(world.session.link) : NULL;
}

static int sent(const zkl_port *port, const char *what, zkl_return back) {
    CHECK(port == the_port() && world.is_locked && !world.session.ending);
    strncat(world.beats, what, sizeof world.beats - strlen(world.beats) - 1);
    world.to_write = back;
    return ZOK;
}

static int perform(zkl_port *port, const zkl_op *op, bool watch, zkl_return back) {
    CHECK(op->kind == ZKL_OP_DELETE && strncmp(op->path, "/zklock-", 8) == 0 && !watch);
    return sent(port, "D", back);
}

static int sync_(zkl_port *port, const char *path, zkl_return back) {
    CHECK_TEXT(path, "/");
    return sent(port, "S", back);
}
static const zkl_port_table calls = {.perform = perform, .sync = sync_};

zkl_nanos zkl_link_asked(const zkl_config *config) {
    return zkl_clock_duration(config->session_timeout);
}

zkl_link *zkl_link_new(const zkl_link_owner *owner, zkl_context *context) {
    CHECK(context == &world.context && context->clock == &world_clock);
    CHECK(world.made < WORLD_LINKS_MOST);
    if (!world.has_memory)
        return NULL;
    zkl_link *link = &world.links[world.made++];
    *link = (zkl_link){.port = {&calls}, .owner = *owner};
    return link;
}

bool zkl_link_start(zkl_link *link, const char *addresses, const zkl_config *config,
                    const zkl_identity *carried) {
    CHECK(!world.is_locked && !world.session.ending);
    CHECK(config->hosts == NULL && config->session_timeout == SESSION_TIMEOUT);
    CHECK_TEXT(world.session.tried, addresses); /* for the host's questions */
    snprintf(link->addresses, sizeof link->addresses, "%s", addresses);
    link->carried = carried ? carried->id : 0;
    if (world.in_start >= 0) {
        const zkl_link_event event = (zkl_link_event)world.in_start;
        world.in_start = -1;
        link->session = 7;
        world_happens(link, event);
    }
    if (world.ends_in_start) {
        world_enter();
        zkl_session_ending(&world.session);
        world_leave();
    }
    errno = EAGAIN;
    return world.starts;
}

zkl_port *zkl_link_port(zkl_link *link) {
    return &link->port;
}
zkl_identity zkl_link_identity(zkl_link *link) {
    CHECK(world.is_locked);
    zkl_identity identity = {.id = link->session};
    strcpy(identity.password, world.is_keeper ? "" : "secret");
    return identity;
}
zkl_nanos zkl_link_timeout(zkl_link *link) {
    CHECK(world.is_locked);
    (void)link;
    return world.granted;
}
zkl_nanos zkl_link_root(zkl_link *link) {
    CHECK(world.is_locked);
    (void)link;
    return world.now;
}
bool zkl_link_connected(zkl_link *link) {
    return link->has_server;
}
bool zkl_link_part(zkl_link *link, zkl_identity *identity) {
    CHECK(!world.is_locked);
    link->is_parted = true;
    *identity = (zkl_identity){.id = link->session};
    if (world.expires_in_part)
        world_happens(link, ZKL_LINK_EXPIRED);
    return world.parts;
}

void zkl_link_drain(zkl_link *link, zkl_nanos deadline) {
    CHECK(!link->is_closed && deadline > world.now && !world.is_locked);
    link->is_drained = true;
    if (world.expires_in_drain)
        world_happens(link, ZKL_LINK_EXPIRED);
}
void zkl_link_close(zkl_link *link) {
    CHECK(!link->is_closed && !world.is_locked);
    link->is_closed = true;
}

zkl_link *world_link(void) {
    return &world.links[world.made - 1];
}

void world_happens(zkl_link *link, zkl_link_event event) {
    link->has_server = event == ZKL_LINK_CONNECTED;
    link->owner.happened(link->owner.ctx, link, event);
}

void world_connect(int64_t id) {
    world_link()->session = id;
    world_happens(world_link(), ZKL_LINK_CONNECTED);
}

void world_answer_by(zkl_link *link, int rc, zkl_proof proof) {
    const zkl_reply reply = {.rc = rc};
    const zkl_return back = world.to_write;
    link->owner.answered(link->owner.ctx, link, &back, &reply, world.now, proof);
}

void world_answer(zkl_proof proof) {
    world_answer_by(world_link(), proof == ZKL_PROOF_QUORUM ? ZNONODE : ZOK, proof);
}

/* ---- what blocks ---- */

void zkl_worker_send(zkl_worker *worker, zkl_job *job) {
    (void)worker;
    for (int i = 0; i < world.job_count; i++)
        if (world.jobs[i] == job)
            return;
    world.jobs[world.job_count++] = job;
}

void world_work(void) {
    while (world.job_count > 0) {
        zkl_job *job = world.jobs[0];
        memmove(world.jobs, world.jobs + 1, (size_t)--world.job_count * sizeof *world.jobs);
        world.at_work = true;
        job->run(job);
        world.at_work = false;
    }
}
