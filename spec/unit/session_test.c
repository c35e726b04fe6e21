/* How a session goes from one link to the next. The links are fakes that do what the case says, and
 * what would run on the worker's thread runs when the case says so. */
#include "check.h"
#include "port/receiver.h"
#include "zookeeper/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* ---- links ---- */

struct zkl_link {
    zkl_port port;
    zkl_link_owner owner;
    char addresses[128];
    int64_t carried; /* the session that it was started with; 0: none */
    int64_t session;
    bool has_server, is_parted, is_closed;
};

enum { LINKS_MOST = 16 };
static struct zkl_link links[LINKS_MOST];
static int made;
static zkl_nanos now, granted;
static bool starts, parts, expires_in_drain, expires_in_part, ends_in_start, has_memory;
static int in_start;        /* the event that comes before zkl_link_start has returned; -1: none */
static char beats[32];      /* what was sent: "S" a sync, "D" a write */
static zkl_return to_write; /* who gets the answer to the latest of them */
static const zkl_port *of_the_session(void);

static zkl_nanos fake_clock_now(void) {
    return now;
}
static const zkl_clock fake_clock = {fake_clock_now};

static int sent(const zkl_port *port, const char *what, zkl_return back) {
    CHECK(port == of_the_session());
    strncat(beats, what, sizeof beats - strlen(beats) - 1);
    to_write = back;
    return ZOK;
}

static int erase(zkl_port *port, const char *path, zkl_return back) {
    CHECK(strncmp(path, "/zklock-", 8) == 0);
    return sent(port, "D", back);
}

static int sync_(zkl_port *port, const char *path, zkl_return back) {
    CHECK_TEXT(path, "/");
    return sent(port, "S", back);
}
static const zkl_port_table calls = {.erase = erase, .sync = sync_};

zkl_nanos zkl_link_asked(const zkl_config *config) {
    return zkl_clock_duration(config->session_timeout);
}

zkl_link *zkl_link_new(const zkl_link_owner *owner, const zkl_clock *clock, uint64_t *requests) {
    CHECK(clock == &fake_clock && requests != NULL);
    CHECK(made < LINKS_MOST);
    if (!has_memory)
        return NULL;
    zkl_link *link = &links[made++];
    *link = (zkl_link){.port = {&calls}, .owner = *owner};
    return link;
}

static void happens(zkl_link *link, zkl_link_event event);
static void end_session(void);

bool zkl_link_start(zkl_link *link, const char *addresses, const zkl_config *config,
                    const zkl_identity *carried) {
    CHECK(config->hosts == NULL);
    snprintf(link->addresses, sizeof link->addresses, "%s", addresses);
    link->carried = carried ? carried->id : 0;
    if (in_start >= 0) {
        const zkl_link_event event = (zkl_link_event)in_start;
        in_start = -1;
        link->session = 7;
        happens(link, event);
    }
    if (ends_in_start)
        end_session();
    errno = EAGAIN;
    return starts;
}

zkl_port *zkl_link_port(zkl_link *link) {
    return &link->port;
}
int64_t zkl_link_session(zkl_link *link) {
    return link->session;
}
zkl_nanos zkl_link_timeout(zkl_link *link) {
    (void)link;
    return granted;
}
zkl_nanos zkl_link_root(zkl_link *link) {
    (void)link;
    return now;
}
bool zkl_link_connected(zkl_link *link) {
    return link->has_server;
}
bool zkl_link_part(zkl_link *link, const char *addresses, zkl_identity *identity) {
    CHECK_TEXT(addresses, link->addresses);
    link->is_parted = true;
    *identity = (zkl_identity){.id = link->session};
    if (expires_in_part)
        happens(link, ZKL_LINK_EXPIRED);
    return parts;
}

void zkl_link_drain(zkl_link *link, zkl_nanos deadline) {
    CHECK(!link->is_closed && deadline > now);
    if (expires_in_drain)
        happens(link, ZKL_LINK_EXPIRED);
}
void zkl_link_close(zkl_link *link) {
    CHECK(!link->is_closed);
    link->is_closed = true;
}

/* ---- what blocks ---- */

static zkl_job *jobs[4];
static int job_count;
static bool at_work;

void zkl_worker_send(zkl_worker *worker, zkl_job *job) {
    (void)worker;
    for (int i = 0; i < job_count; i++)
        if (jobs[i] == job)
            return;
    jobs[job_count++] = job;
}

static void work(void) {
    while (job_count > 0) {
        zkl_job *job = jobs[0];
        memmove(jobs, jobs + 1, (size_t)--job_count * sizeof *jobs);
        at_work = true;
        job->run(job);
        at_work = false;
    }
}

/* ---- a session, and what it tells ---- */

static zkl_context context;
static zkl_session session;
static zkl_log said;

static const zkl_port *of_the_session(void) {
    return session.link ? zkl_link_port(session.link) : NULL;
}

static char news[64]; /* a letter for each, see below */

static void tell(void *ctx, zkl_session_news n) {
    CHECK(ctx == &session);
    const char letter[] = {"RSLXDF"[n], '\0'};
    strncat(news, letter, sizeof news - strlen(news) - 1);
}

/* R: resumed, S: suspended, L: relinked, X: expired, D: refused; F: refreshed */
static const char *take_news(void) {
    static char text[sizeof news];
    memcpy(text, news, sizeof text);
    news[0] = '\0';
    return text;
}

static void enter(void *ctx) {
    (void)ctx;
}

/* Whatever it waits for may never come: then a timer, or the worker, goes on. */
static void check_goes_on(void) {
    const bool works = at_work || job_count > 0,
               tended = session.heart.beating || session.heart.timer.at;
    switch (session.stage) {
    case ZKL_STAGE_OPENING:
        CHECK(works && !session.link);
        break;
    case ZKL_STAGE_RESTING:
        CHECK(session.reopen.at && !session.link);
        break;
    case ZKL_STAGE_SEEKING:
        CHECK((session.look.at || works) && session.link && !session.heart.linked);
        break;
    case ZKL_STAGE_PROVING:
        CHECK(tended && session.heart.proving && !context.port);
        break;
    case ZKL_STAGE_LINKED:
        CHECK(tended && session.heart.linked && context.port == zkl_link_port(session.link));
        break;
    case ZKL_STAGE_ENDED:
        CHECK(!session.link && zkl_timers_next(&context.timers) == ZKL_NEVER);
        break;
    }
}

static void leave(void *ctx) {
    (void)ctx;
    zkl_heart_tend(&session.heart);
    if (!session.ending)
        check_goes_on();
}

static void answered(void *ctx, const zkl_return *back, const zkl_reply *reply) {
    (void)ctx;
    zkl_receiver *receiver = zkl_receiver_find(&context.receivers, back->receiver);
    if (receiver)
        receiver->answer(receiver, back, reply);
}

static void watched(void *ctx, const char *path, zkl_change change) {
    (void)ctx;
    CHECK(change == ZKL_CHANGE_OTHER);
    strncat(news, path, sizeof news - strlen(news) - 1);
}

static zkl_link *latest(void) {
    return &links[made - 1];
}

static void happens(zkl_link *link, zkl_link_event event) {
    link->has_server = event == ZKL_LINK_CONNECTED;
    link->owner.happened(link->owner.ctx, link, event);
}

static void connect_as(int64_t id) {
    latest()->session = id;
    happens(latest(), ZKL_LINK_CONNECTED);
}

static void answer_by(zkl_link *link, int rc, zkl_proof proof) {
    const zkl_reply reply = {.rc = rc};
    const zkl_return back = to_write;
    link->owner.answered(link->owner.ctx, link, &back, &reply, now, proof);
}

static void answer(zkl_proof proof) {
    answer_by(latest(), proof == ZKL_PROOF_QUORUM ? ZNONODE : ZOK, proof);
}

static void pass(double seconds) {
    now += zkl_clock_duration(seconds);
    zkl_timers_run(&context.timers, now);
    zkl_heart_tend(&session.heart);
}

/* Seconds until something happens by itself. */
static double pause_of(void) {
    const zkl_nanos next = zkl_timers_next(&context.timers);
    return next == ZKL_NEVER ? -1 : zkl_clock_seconds(next - now);
}

static void end_session(void) {
    zkl_session_ending(&session);
}

static void set_up(const zkl_config *config) {
    memset(&session, 0, sizeof session);
    memset(&context, 0, sizeof context);
    memset(&said, 0, sizeof said);
    CHECK(zkl_events_init(&context.events) && zkl_receivers_init(&context.receivers));
    context.clock = &fake_clock;
    session.context = &context;
    session.enter = enter;
    session.leave = leave;
    session.tell = tell;
    session.answered = answered;
    session.watched = watched;
    session.ctx = &session;
    session.log = &said;
    zkl_log_open(&said, &context.events);
    CHECK_INT(zkl_session_init(&session, config), ZKL_OK);
    zkl_session_start(&session);
}

static void begin(void) {
    now = 1000 * ZKL_SECOND;
    granted = 6 * ZKL_SECOND;
    starts = parts = has_memory = true;
    expires_in_drain = expires_in_part = ends_in_start = false;
    in_start = -1;
    made = job_count = 0;
    news[0] = beats[0] = '\0';
    set_up(&(zkl_config){.hosts = "10.0.0.1:2181,10.0.0.2:2181", .session_timeout = 10});
}

static void end(void) {
    zkl_session_ending(&session);
    zkl_session_end(&session, now + ZKL_SECOND);
    CHECK(!context.port);
    work();
    check_goes_on();
    CHECK_INT(session.stage, ZKL_STAGE_ENDED);
    for (int i = 0; i < made; i++)
        CHECK(links[i].is_closed);
    zkl_log_close(&said);
    zkl_session_destroy(&session);
    zkl_receivers_destroy(&context.receivers);
    zkl_events_destroy(&context.events);
}

/* A first session, on the first link. */
static void come_up(void) {
    work();
    connect_as(7);
    CHECK_TEXT(take_news(), "R");
}

/* Nobody is in reach, for so long that another link is to carry the session on. */
static void move_on(void) {
    happens(latest(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(take_news(), "S");
    for (int before = made; made == before;) {
        CHECK(pause_of() > 0 && pause_of() <= 6);
        pass(pause_of());
        work();
    }
    CHECK_TEXT(take_news(), "L");
}

/* ---- the first ---- */

static void a_first_session_is_read_at_once(void) {
    work();
    CHECK_INT(made, 1);
    CHECK_INT(links[0].carried, 0);
    CHECK_INT(session.state, ZKL_STATE_CONNECTING);
    connect_as(7);
    CHECK_TEXT(take_news(), "R");
    CHECK(context.port == &links[0].port);
    CHECK_INT(session.state, ZKL_STATE_CONNECTED);
    CHECK_INT(context.session, 7);
    CHECK_INT(context.counters.sessions, 1);
    CHECK_INT(session.timeout, granted);
}

static void the_same_session_is_read_at_once_after_a_cut(void) {
    come_up();
    happens(latest(), ZKL_LINK_SUSPENDED);
    CHECK(!context.port);
    CHECK_INT(session.state, ZKL_STATE_SUSPENDED);
    connect_as(7);
    CHECK_TEXT(take_news(), "SR");
    CHECK(context.port == &links[0].port);
    CHECK_INT(context.counters.sessions, 1);
    CHECK_INT(made, 1);
}

/* When it fails, whoever is found later has taken the session later. */
static void a_link_is_asked_before_it_has_a_server(void) {
    work();
    CHECK_TEXT(beats, "S");
    pass(30);
    CHECK_TEXT(beats, "S"); /* one at a time */
    connect_as(7);
    answer(ZKL_PROOF_LEADER);
    CHECK_TEXT(take_news(), "R");
}

static void a_cut_takes_no_trust_and_the_end_does(void) {
    come_up();
    answer(ZKL_PROOF_QUORUM);
    const zkl_nanos trusted = context.trusted_until;
    CHECK(trusted > now);
    pass(1);
    happens(latest(), ZKL_LINK_SUSPENDED);
    CHECK_INT(context.trusted_until, trusted);
    connect_as(7);
    CHECK_INT(context.trusted_until, trusted);
    happens(latest(), ZKL_LINK_EXPIRED);
    CHECK(context.trusted_until <= now);
}

/* ---- carried on ---- */

static void what_carries_a_session_on_is_read_behind_a_write(void) {
    come_up();
    move_on();
    CHECK_INT(latest()->carried, 7);
    CHECK(links[0].is_parted && links[0].is_closed);
    beats[0] = '\0';
    connect_as(7);
    CHECK_TEXT(take_news(), "");
    CHECK(!context.port); /* its server may lag, and a new handle does not know how far we were */
    CHECK_INT(session.state, ZKL_STATE_SUSPENDED);
    answer(ZKL_PROOF_LEADER); /* a sync that was handed over before there was a server */
    CHECK_TEXT(take_news(), "");
    CHECK_TEXT(beats, "D");
    answer(ZKL_PROOF_QUORUM);
    CHECK(strchr(take_news(), 'R') != NULL);
    CHECK(context.port == &latest()->port);
    CHECK_INT(session.state, ZKL_STATE_CONNECTED);
    CHECK_INT(context.counters.sessions, 1);
}

static void once_it_has_been_answered_it_is_read_at_once_again(void) {
    come_up();
    move_on();
    connect_as(7);
    answer(ZKL_PROOF_QUORUM);
    take_news();
    happens(latest(), ZKL_LINK_SUSPENDED);
    connect_as(7);
    CHECK_TEXT(take_news(), "SR");
}

static void a_cut_before_the_answer_keeps_it_from_being_read(void) {
    come_up();
    move_on();
    connect_as(7);
    happens(latest(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(take_news(), ""); /* it is suspended as it was */
    connect_as(7);
    CHECK_TEXT(take_news(), "");
    CHECK(!context.port);
    answer(ZKL_PROOF_QUORUM);
    CHECK(strchr(take_news(), 'R') != NULL);
}

static void a_session_that_could_not_be_carried_on_has_expired(void) {
    come_up();
    move_on();
    connect_as(8);
    CHECK_TEXT(take_news(), "XR");
    CHECK_INT(context.session, 8);
    CHECK_INT(context.counters.sessions, 2);
    CHECK(context.port == &latest()->port); /* there is nothing of a new one that could be missed */
}

static void nobody_carries_on_what_found_a_server_at_the_last_moment(void) {
    come_up();
    parts = false;
    happens(latest(), ZKL_LINK_SUSPENDED);
    while (made == 1) {
        pass(pause_of());
        work();
    }
    CHECK_TEXT(take_news(), "SLX");
    CHECK_INT(session.state, ZKL_STATE_EXPIRED);
    CHECK_INT(latest()->carried, 0);
    CHECK_INT(context.session, 0);
    connect_as(9);
    CHECK_TEXT(take_news(), "R");
    CHECK_INT(context.counters.sessions, 2);
}

static void a_former_link_is_not_heard(void) {
    come_up();
    move_on();
    connect_as(7);
    answer(ZKL_PROOF_QUORUM);
    take_news();
    happens(&links[0], ZKL_LINK_EXPIRED);
    answer_by(&links[0], ZSESSIONEXPIRED, ZKL_PROOF_BROKEN);
    links[0].owner.watched(links[0].owner.ctx, &links[0], "/old", ZKL_CHANGE_OTHER);
    CHECK_TEXT(take_news(), "");
    CHECK_INT(session.state, ZKL_STATE_CONNECTED);
    latest()->owner.watched(latest()->owner.ctx, latest(), "/new", ZKL_CHANGE_OTHER);
    CHECK_TEXT(take_news(), "/new");
}

/* The server that it had proves nothing of the one that the next link has. */
static void nor_what_it_proves(void) {
    come_up();
    move_on();
    connect_as(7);
    answer_by(&links[0], ZNONODE, ZKL_PROOF_QUORUM);
    CHECK_TEXT(take_news(), "");
    CHECK_INT(session.stage, ZKL_STAGE_PROVING);
    CHECK(context.trusted_until <= now);
}

/* It refuses servers whose data is older than what it has seen, which a new one would take. */
static void a_link_that_never_had_a_server_is_kept(void) {
    work();
    for (int i = 0; i < 20; i++) {
        CHECK(pause_of() > 0);
        pass(pause_of());
        work();
    }
    CHECK_INT(made, 1);
    CHECK_TEXT(take_news(), "");
}

static void the_next_link_begins_with_another_server(void) {
    come_up();
    move_on();
    CHECK_INT(made, 2);
    CHECK(strncmp(links[0].addresses, links[1].addresses, strlen("10.0.0.1:2181")) != 0);
}

/* ---- the end of a session ---- */

static void after_the_end_of_a_session_comes_a_new_one(void) {
    come_up();
    pass(5);
    happens(latest(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(take_news(), "X");
    CHECK_INT(session.state, ZKL_STATE_EXPIRED);
    CHECK_INT(context.session, 0);
    CHECK(!context.port);
    work();
    CHECK_INT(made, 2);
    CHECK(links[0].is_closed);
    CHECK_INT(latest()->carried, 0);
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
}

/* Its link was never told to be there. */
static void one_may_end_before_its_credentials_were_taken(void) {
    work();
    happens(latest(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(take_news(), "X");
    CHECK_INT(session.state, ZKL_STATE_EXPIRED);
    work();
    CHECK_INT(made, 2);
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
}

static void or_after_they_were_refused(void) {
    work();
    happens(latest(), ZKL_LINK_AUTH_FAILED);
    pass(5);
    work();
    CHECK_INT(made, 2);
    CHECK_TEXT(take_news(), "D");
    CHECK_INT(session.state, ZKL_STATE_AUTH_FAILED);
    happens(latest(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(take_news(), "X");
    CHECK_INT(session.state, ZKL_STATE_EXPIRED);
    work();
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
}

static void a_new_one_may_be_refused(void) {
    come_up();
    pass(5);
    happens(latest(), ZKL_LINK_EXPIRED);
    work();
    happens(latest(), ZKL_LINK_AUTH_FAILED);
    CHECK_TEXT(take_news(), "XD");
    CHECK_INT(session.state, ZKL_STATE_AUTH_FAILED);
    pass(5);
    work();
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
}

static void one_that_is_carried_on_may_end_before_the_answer(void) {
    come_up();
    move_on();
    connect_as(7);
    pass(5);
    happens(latest(), ZKL_LINK_EXPIRED);
    CHECK(strchr(take_news(), 'X') != NULL);
    work();
    connect_as(8);
    CHECK_TEXT(take_news(), "R"); /* there is nothing of a new one that could be missed */
}

static void or_be_refused(void) {
    come_up();
    move_on();
    connect_as(7);
    happens(latest(), ZKL_LINK_AUTH_FAILED);
    CHECK(strchr(take_news(), 'D') != NULL);
    CHECK_INT(session.state, ZKL_STATE_AUTH_FAILED);
    pass(5);
    work();
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
}

/* The server may go on with the link as if nothing were, and answer pings: the library waits. */
static void an_answer_tells_of_the_end_as_well(void) {
    come_up();
    pass(5);
    answer_by(latest(), ZSESSIONEXPIRED, ZKL_PROOF_BROKEN);
    CHECK(strchr(take_news(), 'X') != NULL);
    CHECK_INT(session.state, ZKL_STATE_EXPIRED);
    CHECK(!context.port);
    work();
    CHECK_INT(made, 2);
    CHECK(links[0].is_closed);
    CHECK_INT(latest()->carried, 0);
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
    answer_by(&links[0], ZSESSIONEXPIRED, ZKL_PROOF_BROKEN); /* of the former one */
    CHECK_TEXT(take_news(), "");
    CHECK_INT(session.state, ZKL_STATE_CONNECTED);
}

static void also_before_a_session_that_is_carried_on_is_believed(void) {
    come_up();
    move_on();
    connect_as(7);
    pass(5);
    answer_by(latest(), ZSESSIONEXPIRED, ZKL_PROOF_BROKEN);
    CHECK(strchr(take_news(), 'X') != NULL);
    work();
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
}

/* On the former link, which is not heard any more: the next one is told the same. */
static void one_may_end_while_it_goes_to_the_next_link(void) {
    come_up();
    expires_in_part = true;
    move_on();
    CHECK_INT(latest()->carried, 7);
    CHECK_INT(session.state, ZKL_STATE_SUSPENDED);
    happens(latest(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(take_news(), "X");
    work();
    CHECK_INT(latest()->carried, 0);
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
}

static void a_link_may_have_a_server_before_it_has_started(void) {
    in_start = ZKL_LINK_CONNECTED;
    work();
    CHECK_TEXT(take_news(), "R");
    CHECK_INT(made, 1);
    CHECK_TEXT(beats, "S");
}

static void or_be_at_its_end(void) {
    in_start = ZKL_LINK_EXPIRED;
    work();
    CHECK_TEXT(take_news(), "X");
    CHECK_INT(made, 2);
    CHECK(links[0].is_closed);
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
    CHECK_TEXT(beats, "S"); /* of the second */
}

static void or_have_been_refused(void) {
    in_start = ZKL_LINK_AUTH_FAILED;
    work();
    CHECK_TEXT(take_news(), "D");
    CHECK_INT(made, 1);
    CHECK(links[0].is_closed);
    pass(4.01);
    work();
    CHECK_INT(made, 2);
    connect_as(8);
    CHECK_TEXT(take_news(), "R");
}

/* A server that gives sessions and does not know them takes no thousand of them a second. */
static void after_a_brief_one_it_takes_a_moment(void) {
    come_up();
    pass(0.5);
    happens(latest(), ZKL_LINK_EXPIRED);
    work();
    CHECK_INT(made, 1);
    CHECK(links[0].is_closed);
    pass(0.19);
    work();
    CHECK_INT(made, 1);
    pass(0.02);
    work();
    CHECK_INT(made, 2);
}

static void refused_credentials_are_shown_again_later_and_later(void) {
    come_up();
    double expected = 4;
    for (int i = 0; i < 6; i++) {
        happens(latest(), ZKL_LINK_AUTH_FAILED);
        CHECK_TEXT(take_news(), "D");
        CHECK_INT(session.state, ZKL_STATE_AUTH_FAILED);
        work();
        const int before = made;
        pass(expected - 0.01);
        work();
        CHECK_INT(made, before);
        pass(0.02);
        work();
        CHECK_INT(made, before + 1);
        expected = expected < 30 ? 2 * expected : 60;
    }
    connect_as(9);
    CHECK_INT(session.state, ZKL_STATE_CONNECTED);
    happens(latest(), ZKL_LINK_AUTH_FAILED);
    work();
    const int before = made;
    pass(4.01); /* whoever was let in is shown them soon */
    work();
    CHECK_INT(made, before + 1);
}

/* ---- what cannot be started ---- */

static void a_link_that_does_not_start_is_tried_again(void) {
    starts = false;
    work();
    CHECK_INT(made, 1);
    CHECK(links[0].is_closed);
    double expected = 0.05;
    for (int i = 1; i < 8; i++) {
        pass(expected - 0.001);
        work();
        CHECK_INT(made, i);
        pass(0.001);
        work();
        CHECK_INT(made, i + 1);
        expected = expected < 1 ? 2 * expected : 2;
    }
    starts = true;
    pass(2);
    work();
    connect_as(7);
    CHECK_TEXT(take_news(), "R");
}

static void so_is_one_for_which_there_is_no_memory(void) {
    has_memory = false;
    work();
    CHECK_INT(made, 0);
    CHECK(pause_of() > 0 && pause_of() < 1);
    has_memory = true;
    pass(pause_of());
    work();
    connect_as(7);
    CHECK_TEXT(take_news(), "R");
}

static void says_so_once_for_each_that_does_not_start(void) {
    const char *level;
    char text[ZKL_LOG_LINE];
    work();
    CHECK(!zkl_log_next(&said, &level, text, sizeof text));
    happens(latest(), ZKL_LINK_EXPIRED);
    starts = false;
    pass(1);
    work();
    CHECK(zkl_log_next(&said, &level, text, sizeof text));
    CHECK(strstr(text, "cannot start a ZooKeeper handle: ") != NULL);
    CHECK(!zkl_log_next(&said, &level, text, sizeof text));
}

/* ---- without a server ---- */

/* The first time while the session can still be carried to another address; then less and less
 * often, and no less often than each timeout. */
static void names_are_looked_up_again(void) {
    granted = 60 * ZKL_SECOND;
    come_up();
    happens(latest(), ZKL_LINK_SUSPENDED);
    const double expected[] = {10, 20, 30};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CHECK_INT(pause_of() * 1000, expected[i] * 1000);
        pass(pause_of());
        CHECK_INT(job_count, 1);
        work();
    }
    CHECK_INT(made, 2); /* a timeout has passed */
}

static void short_timeouts_do_not_have_names_looked_up_all_the_time(void) {
    granted = ZKL_SECOND / 2;
    work();
    connect_as(7);
    happens(latest(), ZKL_LINK_EXPIRED);
    pass(1);
    work();
    granted = ZKL_SECOND / 2;
    double last = 0;
    for (int i = 0; i < 10; i++) {
        last = pause_of();
        pass(last);
        work();
    }
    CHECK_INT(last * 1000, 2000);
}

static void with_a_server_nothing_is_looked_up(void) {
    come_up();
    happens(latest(), ZKL_LINK_SUSPENDED);
    connect_as(7);
    CHECK(!session.look.at);
    pass(5);
    CHECK_INT(job_count, 0);
    CHECK_INT(made, 1);
}

/* It tells of each server that it loses before it has had a word with it. */
static void that_there_is_still_none_changes_nothing(void) {
    come_up();
    now += 2 * ZKL_SECOND;
    happens(latest(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(take_news(), "S");
    const double pause = pause_of();
    now += ZKL_SECOND / 2;
    happens(latest(), ZKL_LINK_SUSPENDED);
    CHECK_TEXT(take_news(), "");
    CHECK(pause_of() < pause);
    CHECK_INT(session.seeking, now - ZKL_SECOND / 2);
}

/* The library has found one, and we have not heard of it yet. */
static void a_link_that_has_just_found_a_server_is_kept(void) {
    come_up();
    happens(latest(), ZKL_LINK_SUSPENDED);
    latest()->has_server = true;
    for (int i = 0; i < 10; i++) {
        pass(pause_of());
        work();
    }
    CHECK_INT(made, 1);
    connect_as(7);
    CHECK_TEXT(take_news(), "SR");
}

/* ---- states ---- */

static void each_change_of_the_state_is_told_once(void) {
    zkl_event event;
    come_up();
    happens(latest(), ZKL_LINK_SUSPENDED);
    happens(latest(), ZKL_LINK_SUSPENDED);
    connect_as(7);
    CHECK_TEXT(take_news(), "SR");
    happens(latest(), ZKL_LINK_CONNECTED);
    CHECK_TEXT(take_news(), "");
    const int expected[] = {ZKL_STATE_CONNECTED, ZKL_STATE_SUSPENDED, ZKL_STATE_CONNECTED};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CHECK(zkl_events_peek(&context.events, &event));
        CHECK_INT(event.kind, ZKL_EVENT_STATE);
        CHECK_INT(event.status, expected[i]);
        zkl_events_forget(&context.events, event.serial);
    }
    CHECK(!zkl_events_peek(&context.events, &event));
}

/* A host that does not poll. */
static void of_many_changes_the_latest_are_told(void) {
    zkl_event event;
    come_up();
    for (int i = 0; i < ZKL_STATES_KEPT; i++) {
        happens(latest(), ZKL_LINK_SUSPENDED);
        connect_as(7);
    }
    int count = 0, last = -1;
    while (zkl_events_peek(&context.events, &event)) {
        CHECK(event.status != last);
        last = event.status;
        count++;
        zkl_events_forget(&context.events, event.serial);
    }
    CHECK_INT(count, ZKL_STATES_KEPT);
    CHECK_INT(last, ZKL_STATE_CONNECTED);
}

static void one_that_ends_opens_no_link_any_more(void) {
    come_up();
    pass(60); /* after a brief one the next link would come later anyway */
    happens(latest(), ZKL_LINK_EXPIRED);
    zkl_session_ending(&session);
    CHECK_INT(session.state, ZKL_STATE_CLOSED);
    work();
    CHECK_INT(made, 1);
    CHECK_INT(zkl_timers_next(&context.timers), ZKL_NEVER);
}

static void nor_tries_again_what_did_not_start(void) {
    starts = false;
    ends_in_start = true;
    work();
    CHECK_INT(made, 1);
    CHECK(links[0].is_closed);
    CHECK_INT(zkl_timers_next(&context.timers), ZKL_NEVER);
    pass(100);
    CHECK_INT(job_count, 0);
}

static void nor_looks_for_another_server(void) {
    come_up();
    happens(latest(), ZKL_LINK_SUSPENDED);
    zkl_session_ending(&session);
    CHECK_INT(zkl_timers_next(&context.timers), ZKL_NEVER);
    pass(100);
    CHECK_INT(job_count, 0);
    connect_as(7);
    CHECK_INT(session.state, ZKL_STATE_CLOSED);
}

/* Its nodes are gone before they could be deleted; every link is closed all the same (end). */
static void one_may_expire_while_it_ends(void) {
    come_up();
    expires_in_drain = true;
}

/* It has not been closed yet: it is, all the same (end). */
static void one_may_expire_just_before_it_ends(void) {
    come_up();
    happens(latest(), ZKL_LINK_EXPIRED);
    CHECK(!links[0].is_closed);
}

/* ---- credentials ---- */

static void start_anew(const zkl_config *config) {
    end();
    made = job_count = 0;
    news[0] = beats[0] = '\0';
    set_up(config);
}

static void without_credentials_the_heart_beats_before_there_is_a_server(void) {
    starts = false;
    work();
    CHECK_TEXT(beats, "");
    starts = true;
    pass(1);
    work();
    CHECK(beats[0] != '\0');
}

static void credentials_are_kept_and_go_before_everything_else(void) {
    char secret[] = "me:secret";
    const zkl_auth auths[] = {{"digest", secret}, {"a", "b"}, {"c", "d"}, {"e", "f"}};
    start_anew(&(zkl_config){
        .hosts = "10.0.0.1:2181", .session_timeout = 10, .auths = auths, .auth_count = 4});
    explicit_bzero(secret, sizeof secret);
    CHECK_INT(session.config.auth_count, 4);
    CHECK_TEXT(session.config.auths[0].scheme, "digest");
    CHECK_TEXT(session.config.auths[0].credential, "me:secret");
    CHECK_TEXT(session.config.auths[3].scheme, "e");
    CHECK_TEXT(session.config.auths[3].credential, "f");
    work();
    CHECK_TEXT(beats, "");
    connect_as(7);
    CHECK_TEXT(take_news(), "R");
    CHECK(beats[0] != '\0');
    zkl_session_end(&session, now + ZKL_SECOND);
    CHECK_INT(session.config.auth_count, 0);
}

/* Somebody waits, and a write that is answered says that he need not any more. */
static void trust_that_is_new_is_told(void) {
    context.counters.waiting = 1;
    come_up();
    CHECK(context.trusted_until <= now);
    pass(0);
    answer(ZKL_PROOF_QUORUM);
    CHECK(context.trusted_until > now);
    CHECK_TEXT(take_news(), "F");
    context.counters.waiting = 0;
}

/* Let in without a word about its credentials, by servers that do not know its session. */
static void one_may_expire_after_its_credentials_were_refused(void) {
    come_up();
    happens(latest(), ZKL_LINK_AUTH_FAILED);
    CHECK_TEXT(take_news(), "D");
    work();
    pass(4.01);
    work();
    happens(latest(), ZKL_LINK_EXPIRED);
    CHECK_TEXT(take_news(), "X");
    CHECK_INT(session.state, ZKL_STATE_EXPIRED);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a first session is read at once", a_first_session_is_read_at_once},
        {"the same session is read at once after a cut",
         the_same_session_is_read_at_once_after_a_cut},
        {"a link is asked before it has a server", a_link_is_asked_before_it_has_a_server},
        {"a cut takes no trust, and the end does", a_cut_takes_no_trust_and_the_end_does},
        {"what carries a session on is read behind a write",
         what_carries_a_session_on_is_read_behind_a_write},
        {"once that has been answered it is read at once again",
         once_it_has_been_answered_it_is_read_at_once_again},
        {"a cut before the answer keeps it from being read",
         a_cut_before_the_answer_keeps_it_from_being_read},
        {"a session that could not be carried on has expired",
         a_session_that_could_not_be_carried_on_has_expired},
        {"nobody carries on what found a server at the last moment",
         nobody_carries_on_what_found_a_server_at_the_last_moment},
        {"a former link is not heard", a_former_link_is_not_heard},
        {"nor what it proves", nor_what_it_proves},
        {"a link that never had a server is kept", a_link_that_never_had_a_server_is_kept},
        {"the next link begins with another server", the_next_link_begins_with_another_server},
        {"after the end of a session comes a new one", after_the_end_of_a_session_comes_a_new_one},
        {"one may end before its credentials were taken",
         one_may_end_before_its_credentials_were_taken},
        {"or after they were refused", or_after_they_were_refused},
        {"a new one may be refused", a_new_one_may_be_refused},
        {"one that is carried on may end before the answer",
         one_that_is_carried_on_may_end_before_the_answer},
        {"or be refused", or_be_refused},
        {"an answer tells of the end as well", an_answer_tells_of_the_end_as_well},
        {"also before a session that is carried on is believed",
         also_before_a_session_that_is_carried_on_is_believed},
        {"one may end while it goes to the next link", one_may_end_while_it_goes_to_the_next_link},
        {"a link may have a server before it has started",
         a_link_may_have_a_server_before_it_has_started},
        {"or be at its end", or_be_at_its_end},
        {"or have been refused", or_have_been_refused},
        {"after a brief one it takes a moment", after_a_brief_one_it_takes_a_moment},
        {"refused credentials are shown again, later and later",
         refused_credentials_are_shown_again_later_and_later},
        {"a link that does not start is tried again", a_link_that_does_not_start_is_tried_again},
        {"so is one for which there is no memory", so_is_one_for_which_there_is_no_memory},
        {"it says so once for each that does not start", says_so_once_for_each_that_does_not_start},
        {"names are looked up again", names_are_looked_up_again},
        {"short timeouts do not have names looked up all the time",
         short_timeouts_do_not_have_names_looked_up_all_the_time},
        {"with a server nothing is looked up", with_a_server_nothing_is_looked_up},
        {"that there is still none changes nothing", that_there_is_still_none_changes_nothing},
        {"a link that has just found a server is kept",
         a_link_that_has_just_found_a_server_is_kept},
        {"each change of the state is told once", each_change_of_the_state_is_told_once},
        {"of many changes the latest are told", of_many_changes_the_latest_are_told},
        {"one that ends opens no link any more", one_that_ends_opens_no_link_any_more},
        {"nor tries again what did not start", nor_tries_again_what_did_not_start},
        {"nor looks for another server", nor_looks_for_another_server},
        {"one may expire while it ends", one_may_expire_while_it_ends},
        {"one may expire just before it ends", one_may_expire_just_before_it_ends},
        {"without credentials the heart beats before there is a server",
         without_credentials_the_heart_beats_before_there_is_a_server},
        {"credentials are kept, and go before everything else",
         credentials_are_kept_and_go_before_everything_else},
        {"trust that is new is told", trust_that_is_new_is_told},
        {"one may expire after its credentials were refused",
         one_may_expire_after_its_credentials_were_refused},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, end);
}
