/* SPDX-License-Identifier: MIT */
/* The warning of a wait that takes long: when it comes, what it says, and what it asks for. */
#include "fake_world.h"

#include "line/front.h"
#include "line/slow.h"

#include <stdio.h>
#include <string.h>

#define AFTER 5.0

static struct {
    unsigned count;
    char path[64], why[256]; /* of the latest */
    double seconds;
} warned;

static void warn(zkl_context *context, const char *path, int length, double seconds,
                 const char *why) {
    (void)context;
    warned.count++;
    warned.seconds = seconds;
    snprintf(warned.path, sizeof warned.path, "%.*s", length, path);
    snprintf(warned.why, sizeof warned.why, "%s", why);
}

static void begin(void) {
    memset(&warned, 0, sizeof warned);
    fake_world_begin();
    one->context.warn_slow = warn;
    two->context.identifier = "db7:4242";
}

/* ---- the host ---- */

static void begin_slow(const fake_caller *c, double seconds) {
    zkl_slow_begin(c->contender, zkl_clock_duration(seconds));
}

/* One that waits, and is slow after AFTER seconds. */
static fake_caller *waiter(void) {
    fake_caller *c = fake_waiter(one);
    begin_slow(c, AFTER);
    return c;
}

static void becomes_slow(const fake_caller *c) {
    fake_settle_all(zk);
    CHECK(fake_waits(c));
    begin_slow(c, AFTER);
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
}

/* Of a first node, and where somebody holds with it. */
static void check_warned_at(const char *file, int line, unsigned count, const char *why,
                            const char *node) {
    char text[256];
    check_int(file, line, "warnings", warned.count, count);
    snprintf(text, sizeof text, node ? "%s (%s)" : "%s", why, node ? strrchr(node, '/') + 1 : "");
    check_text(file, line, "why", warned.why, text);
}

#define CHECK_WARNED(count, why, node) check_warned_at(__FILE__, __LINE__, (count), (why), (node))

static unsigned reads(void) {
    return one->counts[FAKE_GET];
}

static unsigned lists(void) {
    return one->counts[FAKE_LIST];
}

/* ---- when ---- */

static void it_comes_once_and_names_the_path_and_who_holds(void) {
    const fake_caller *holder = fake_holder(two);
    waiter();
    fake_wait(zk, AFTER - 0.001);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 0);
    fake_wait(zk, 0.001);
    CHECK_INT(fake_pending(one, FAKE_GET, fake_node_of(holder)), 1);
    CHECK_INT(warned.count, 0);
    fake_settle_all(zk);
    CHECK_WARNED(1, "db7:4242 holds", fake_node_of(holder));
    CHECK_TEXT(warned.path, LINE);
    CHECK(warned.seconds > AFTER - 0.001 && warned.seconds < AFTER + 0.001);
    fake_wait(zk, 1000);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 1);
}

static void a_caller_of_a_place_hears_who_holds(void) {
    const fake_caller *holder = fake_holder(two), *c = fake_share(one, LINE, 1e12);
    begin_slow(c, AFTER);
    fake_settle_all(zk);
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(1, "db7:4242 holds", fake_node_of(holder));
    CHECK_TEXT(zkl_view_of(c->contender).identifier, "db7:4242");
}

static void a_wait_that_ends_before_has_none(void) {
    fake_caller *holder = fake_holder(two), *granted = waiter(), *gone = waiter();
    fake_drop(gone);
    CHECK_INT(fake_release(holder), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(granted));
    CHECK_INT(fake_release(granted), ZKL_OK);
    fake_settle_all(zk);
    CHECK_CLEAN();
    fake_wait(zk, 1000);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 0);
}

static void a_wait_that_ends_while_the_first_node_is_read_has_none(void) {
    fake_holder(two);
    fake_caller *gone = waiter();
    fake_wait(zk, AFTER);
    fake_drop(gone);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 0);
}

static void a_holder_and_a_client_without_a_log_have_none(void) {
    const fake_caller *holder = fake_holder(one);
    begin_slow(holder, AFTER);
    CHECK(holder->contender->slow == NULL);
    one->context.warn_slow = NULL;
    const fake_caller *c = fake_waiter(one);
    begin_slow(c, AFTER);
    CHECK(c->contender->slow == NULL);
}

static void after_for_ever_there_is_none(void) {
    fake_holder(two);
    const fake_caller *c = fake_waiter(one);
    zkl_slow_begin(c->contender, ZKL_NEVER - 1);
    fake_wait(zk, 1e6);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 0);
}

static void it_counts_from_the_beginning_of_the_wait(void) {
    fake_holder(two);
    const fake_caller *c = fake_waiter(one);
    fake_wait(zk, AFTER - 1);
    begin_slow(c, AFTER);
    fake_wait(zk, 1);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 1);
}

/* ---- what is read ---- */

static void the_first_node_is_read_once_for_all(void) {
    const fake_caller *holder = fake_holder(two);
    waiter();
    waiter();
    waiter();
    const unsigned before = reads();
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(3, "db7:4242 holds", fake_node_of(holder));
    waiter();
    const unsigned later = reads(); /* a waiter reads the node behind which it waits */
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(4, "db7:4242 holds", fake_node_of(holder));
    CHECK_INT(later - before, 2);
    CHECK_INT(reads(), later);
}

static void a_stray_lease_in_front_does_not_hold(void) {
    fake_directory(zk, LINE);
    fake_stranger(zk, LINE, "%s-lease-");
    const fake_caller *holder = fake_holder(two);
    waiter();
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(1, "db7:4242 holds", fake_node_of(holder));
}

static void another_holder_is_read_anew(void) {
    fake_caller *first = fake_holder(two), *second = fake_waiter(two);
    waiter();
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(1, "db7:4242 holds", fake_node_of(first));
    CHECK_INT(fake_release(first), ZKL_OK);
    fake_settle_all(zk);
    CHECK(fake_held(second));
    fake_write(zk, fake_node_of(second), "db8:1");
    waiter();
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(2, "db8:1 holds", fake_node_of(second));
}

static void another_holder_that_cannot_be_read_is_not_the_former_one(void) {
    fake_caller *first = fake_holder(two);
    const fake_caller *second = fake_waiter(two);
    waiter();
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(1, "db7:4242 holds", fake_node_of(first));
    CHECK_INT(fake_release(first), ZKL_OK);
    fake_settle_all(zk);
    waiter();
    fake_refuse(zk, FAKE_GET, fake_node_of(second), ZNOAUTH, 0);
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(2, "the holder's data could not be read", fake_node_of(second));
}

/* A list of before shows it. The answer about the one that was first comes too late. */
static void another_holder_while_the_first_node_is_read_is_read_too(void) {
    char former[128];
    fake_caller *first = fake_holder(two);
    const fake_caller *second = fake_waiter(two), *early = fake_waiter(one),
                      *late = fake_waiter(one);
    begin_slow(early, 0.5);
    begin_slow(late, 0.6);
    fake_write(zk, fake_node_of(second), "db8:1");
    snprintf(former, sizeof former, "%s", fake_node_of(first));
    fake_join(one, LINE, ZKL_NEVER);
    CHECK_INT(fake_release(first), ZKL_OK);
    fake_settle(two);
    fake_wait(zk, 0.5);
    while (fake_pending(one, FAKE_LIST, LINE))
        CHECK(fake_answer(one));
    CHECK_INT(fake_pending(one, FAKE_GET, former), 1);
    CHECK_INT(warned.count, 0);
    fake_wait(zk, 0.1);
    CHECK_WARNED(1, "the holder's data could not be read", former);
    fake_settle_all(zk);
    CHECK_WARNED(2, "db8:1 holds", fake_node_of(second));
}

static void a_holder_without_an_identifier_is_somebody(void) {
    two->context.identifier = "";
    const fake_caller *holder = fake_holder(two);
    waiter();
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(1, "somebody without an identifier holds", fake_node_of(holder));
    waiter();
    const unsigned before = reads();
    fake_wait(zk, AFTER);
    CHECK_WARNED(2, "somebody without an identifier holds", fake_node_of(holder));
    CHECK_INT(reads(), before); /* that it is empty is known */
}

static void long_data_are_cut(void) {
    char data[1000], why[256];
    memset(data, 'x', sizeof data - 1);
    data[sizeof data - 1] = '\0';
    two->context.identifier = data;
    const fake_caller *holder = fake_holder(two);
    waiter();
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    snprintf(why, sizeof why, "%.159s holds", data);
    CHECK_WARNED(1, why, fake_node_of(holder));
}

static void what_cannot_be_read_is_read_again_for_the_next(void) {
    const fake_caller *holder = fake_holder(two);
    waiter();
    fake_caller *next = fake_waiter(one);
    begin_slow(next, AFTER + 1);
    fake_refuse(zk, FAKE_GET, fake_node_of(holder), ZNOAUTH, 0);
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    fake_allow(zk);
    CHECK_WARNED(1, "the holder's data could not be read", fake_node_of(holder));
    fake_wait(zk, 1);
    fake_settle_all(zk);
    CHECK_WARNED(2, "db7:4242 holds", fake_node_of(holder));
}

/* ---- what is not read ---- */

static void a_holder_of_this_client_is_not_read(void) {
    const fake_caller *holder = fake_holder(one);
    waiter();
    fake_wait(zk, AFTER - 0.1);
    fake_settle_all(zk); /* the holder has read its own node for its watch */
    fake_wait(zk, 0.1);
    CHECK_WARNED(1, "this client itself holds", NULL);
    CHECK_INT(fake_pending(one, FAKE_GET, fake_node_of(holder)), 0);
}

static void the_first_waiter_of_a_session_that_is_not_sure_is_said_to_be_that(void) {
    fake_wait(zk, 100);
    one->context.valid_until = 0;
    fake_caller *c = fake_join(one, LINE, ZKL_NEVER);
    begin_slow(c, AFTER);
    fake_settle(one);
    one->context.valid_until = 0;
    fake_wait(zk, AFTER);
    CHECK_WARNED(1, "this client is first, and is not sure of its session", NULL);
}

static void a_line_that_was_never_listed_has_nobody(void) {
    fake_holder(two);
    const fake_caller *c = fake_join(one, LINE, ZKL_NEVER);
    begin_slow(c, AFTER);
    fake_wait(zk, AFTER);
    CHECK_WARNED(1, "nobody is known to hold", NULL);
}

static void without_a_server_that_is_said(void) {
    fake_holder(two);
    waiter();
    fake_cut(one);
    fake_wait(zk, AFTER);
    CHECK_WARNED(1, "no server is in reach", NULL);
    CHECK_TEXT(warned.path, LINE);
}

static void once_there_is_a_server_it_names_who_holds(void) {
    const fake_caller *holder = fake_holder(two);
    fake_caller *c = waiter();
    fake_cut(one);
    fake_wait(zk, AFTER);
    CHECK_WARNED(1, "no server is in reach", NULL);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_WARNED(2, "db7:4242 holds", fake_node_of(holder));
    fake_wait(zk, 1000);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 2);
    CHECK(fake_waits(c));
}

static void once_there_is_another_handle_it_names_who_holds(void) {
    const fake_caller *holder = fake_holder(two);
    waiter();
    fake_cut(one);
    fake_wait(zk, AFTER);
    fake_relink(one);
    CHECK_WARNED(1, "no server is in reach", NULL);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_WARNED(2, "db7:4242 holds", fake_node_of(holder));
}

static void a_wait_that_ends_without_a_server_names_nobody(void) {
    fake_holder(two);
    fake_caller *gone = waiter();
    fake_cut(one);
    fake_wait(zk, AFTER);
    fake_drop(gone);
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_WARNED(1, "no server is in reach", NULL);
}

static void a_library_that_takes_no_request_leaves_the_name(void) {
    fake_holder(two);
    waiter();
    one->deaf = ZINVALIDSTATE;
    fake_wait(zk, AFTER);
    CHECK_WARNED(1, "the holder's data could not be read", NULL);
}

static void a_link_that_breaks_meanwhile_brings_no_answer(void) {
    const fake_caller *holder = fake_holder(two);
    waiter();
    fake_wait(zk, AFTER);
    CHECK_INT(warned.count, 0);
    fake_cut(one);
    CHECK_WARNED(1, "the holder's data could not be read", fake_node_of(holder));
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 1);
}

static void another_handle_brings_no_answer(void) {
    const fake_caller *holder = fake_holder(two);
    waiter();
    fake_wait(zk, AFTER);
    fake_cut_quietly(one);
    CHECK_INT(warned.count, 0);
    fake_relink(one);
    CHECK_WARNED(1, "the holder's data could not be read", fake_node_of(holder));
    fake_connect(one);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 1);
}

/* A multilock that has lost one of its nodes leaves its lines, and enters them again. */
static void a_line_that_is_left_brings_no_answer(void) {
    const char *const both[] = {LINE, "/locks/b"};
    fake_directory(zk, both[1]);
    const fake_caller *holder = fake_holder(two);
    fake_caller *c = fake_join_all(one, both, 2, 1e12);
    fake_settle_all(zk);
    CHECK(fake_waits(c));
    begin_slow(c, AFTER);
    fake_wait(zk, AFTER);
    CHECK_INT(fake_pending(one, FAKE_GET, fake_node_of(holder)), 1);
    CHECK_INT(warned.count, 0);
    fake_bury(one);
    fake_cut_quietly(one);
    fake_expire(one);
    CHECK_WARNED(1, "the holder's data could not be read", fake_node_of(holder));
}

/* ---- a line whose front this client does not watch ---- */

/* Two waiters behind two others: this client watches the node before its own, and not the first. */
static fake_caller *unseen_front(fake_caller **second) {
    fake_caller *first = fake_holder(two);
    *second = fake_waiter(two);
    fake_waiter(two);
    waiter();
    waiter();
    return first;
}

static void it_is_listed_once_for_all(void) {
    fake_caller *second, *first = unseen_front(&second);
    fake_write(zk, fake_node_of(second), "db8:1");
    CHECK_INT(fake_release(first), ZKL_OK);
    fake_settle_all(zk);
    const unsigned before = lists();
    fake_wait(zk, AFTER);
    CHECK_INT(warned.count, 0);
    fake_settle_all(zk);
    CHECK_INT(lists(), before + 1);
    CHECK_WARNED(2, "db8:1 holds", fake_node_of(second));
}

static void it_is_not_listed_again_within_a_second(void) {
    fake_caller *second;
    const fake_caller *first = unseen_front(&second);
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    CHECK_WARNED(2, "db7:4242 holds", fake_node_of(first));
    fake_caller *late = fake_waiter(one);
    begin_slow(late, 1);
    const unsigned before = lists();
    fake_wait(zk, 1);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 3);
    CHECK_INT(lists(), before);
}

static void it_cannot_be_listed_when_the_link_breaks(void) {
    fake_caller *second;
    unseen_front(&second);
    fake_wait(zk, AFTER);
    CHECK_INT(warned.count, 0);
    fake_cut(one);
    CHECK_WARNED(2, "the line could not be read", NULL);
}

static void it_cannot_be_listed_by_another_handle(void) {
    fake_caller *second;
    unseen_front(&second);
    fake_wait(zk, AFTER);
    fake_cut_quietly(one);
    CHECK_INT(warned.count, 0);
    fake_relink(one);
    CHECK_WARNED(2, "the line could not be read", NULL);
}

static void it_is_not_listed_for_a_wait_that_has_ended(void) {
    fake_holder(two);
    fake_waiter(two);
    fake_waiter(two);
    fake_caller *gone = waiter();
    fake_wait(zk, AFTER);
    fake_drop(gone);
    fake_settle_all(zk);
    CHECK_INT(warned.count, 0);
}

/* ---- paths ---- */

static void the_path_is_the_one_in_the_chroot(void) {
    fake_holder(two);
    waiter();
    one->context.chroot = strlen("/locks");
    fake_wait(zk, AFTER);
    fake_settle_all(zk);
    one->context.chroot = 0;
    CHECK_INT(warned.count, 1);
    CHECK_TEXT(warned.path, LINE + strlen("/locks"));
}

static void of_a_multilock_it_is_the_one_that_it_waits_for(void) {
    const char *const both[] = {LINE, "/locks/b"};
    fake_directory(zk, LINE);
    const fake_caller *holder = fake_join(two, both[1], 1e12);
    fake_settle_all(zk);
    becomes_slow(fake_join_all(one, both, 2, 1e12));
    CHECK_WARNED(1, "db7:4242 holds", fake_node_of(holder));
    CHECK_TEXT(warned.path, both[1]);
}

static void of_a_semaphore_it_is_the_one_that_the_caller_gave(void) {
    fake_directory(zk, LINE "/locks");
    fake_directory(zk, LINE "/leases");
    fake_lease(two, LINE, 1, 1);
    fake_settle_all(zk);
    becomes_slow(fake_lease(one, LINE, 1, 1));
    CHECK_INT(warned.count, 1);
    CHECK_TEXT(warned.path, LINE);
    CHECK(strstr(warned.why, "db7:4242 holds") != NULL);
}

/* Neither the one that waits for leases, with the gate, nor the one that waits for the gate. */
static void of_a_semaphore_a_stray_lock_among_the_leases_does_not_hold(void) {
    fake_directory(zk, LINE "/locks");
    fake_directory(zk, LINE "/leases");
    fake_stranger(zk, LINE "/leases", "%s-lock-");
    fake_lease(two, LINE, 1, 1);
    fake_settle_all(zk);
    fake_caller *first = fake_lease(one, LINE, 1, 1), *second = fake_lease(one, LINE, 1, 1);
    fake_settle_all(zk);
    CHECK(fake_waits(first) && fake_waits(second));
    begin_slow(first, AFTER);
    begin_slow(second, AFTER + 1);
    for (unsigned warnings = 1; warnings <= 2; warnings++) {
        fake_wait(zk, warnings == 1 ? AFTER : 1);
        fake_settle_all(zk);
        CHECK_INT(warned.count, warnings);
        CHECK(strstr(warned.why, "db7:4242 holds (") && strstr(warned.why, "-lease-"));
    }
}

static void of_a_semaphore_the_one_with_the_gate_holds_until_it_has_passed(void) {
    const fake_caller *inside = fake_join(two, LINE "/locks", 5);
    fake_settle_all(zk);
    becomes_slow(fake_lease(one, LINE, 1, 1));
    CHECK_WARNED(1, "db7:4242 holds", fake_node_of(inside));
    CHECK_TEXT(warned.path, LINE);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"it comes once, and names the path and who holds",
         it_comes_once_and_names_the_path_and_who_holds},
        {"a caller of a place hears who holds", a_caller_of_a_place_hears_who_holds},
        {"a wait that ends before has none", a_wait_that_ends_before_has_none},
        {"a wait that ends while the first node is read has none",
         a_wait_that_ends_while_the_first_node_is_read_has_none},
        {"a holder, and a client without a log, have none",
         a_holder_and_a_client_without_a_log_have_none},
        {"after for ever there is none", after_for_ever_there_is_none},
        {"it counts from the beginning of the wait", it_counts_from_the_beginning_of_the_wait},
        {"the first node is read once for all", the_first_node_is_read_once_for_all},
        {"a stray lease in front does not hold", a_stray_lease_in_front_does_not_hold},
        {"another holder is read anew", another_holder_is_read_anew},
        {"another holder while the first node is read is read, too",
         another_holder_while_the_first_node_is_read_is_read_too},
        {"another holder that cannot be read is not the former one",
         another_holder_that_cannot_be_read_is_not_the_former_one},
        {"a holder without an identifier is somebody", a_holder_without_an_identifier_is_somebody},
        {"long data are cut", long_data_are_cut},
        {"what cannot be read is read again for the next",
         what_cannot_be_read_is_read_again_for_the_next},
        {"a holder of this client is not read", a_holder_of_this_client_is_not_read},
        {"the first waiter of a session that is not sure is said to be that",
         the_first_waiter_of_a_session_that_is_not_sure_is_said_to_be_that},
        {"a line that was never listed has nobody", a_line_that_was_never_listed_has_nobody},
        {"without a server that is said", without_a_server_that_is_said},
        {"once there is a server, it names who holds", once_there_is_a_server_it_names_who_holds},
        {"once there is another handle, it names who holds",
         once_there_is_another_handle_it_names_who_holds},
        {"a wait that ends without a server names nobody",
         a_wait_that_ends_without_a_server_names_nobody},
        {"a library that takes no request leaves the name",
         a_library_that_takes_no_request_leaves_the_name},
        {"a link that breaks meanwhile brings no answer",
         a_link_that_breaks_meanwhile_brings_no_answer},
        {"another handle brings no answer", another_handle_brings_no_answer},
        {"a line that is left brings no answer", a_line_that_is_left_brings_no_answer},
        {"a line whose front is not watched is listed once for all", it_is_listed_once_for_all},
        {"... is not listed again within a second", it_is_not_listed_again_within_a_second},
        {"... cannot be listed when the link breaks", it_cannot_be_listed_when_the_link_breaks},
        {"... cannot be listed by another handle", it_cannot_be_listed_by_another_handle},
        {"... is not listed for a wait that has ended", it_is_not_listed_for_a_wait_that_has_ended},
        {"the path is the one in the chroot", the_path_is_the_one_in_the_chroot},
        {"of a multilock it is the one that it waits for",
         of_a_multilock_it_is_the_one_that_it_waits_for},
        {"of a semaphore it is the one that the caller gave",
         of_a_semaphore_it_is_the_one_that_the_caller_gave},
        {"of a semaphore the one with the gate holds until it has passed",
         of_a_semaphore_the_one_with_the_gate_holds_until_it_has_passed},
        {"of a semaphore a stray lock among the leases does not hold",
         of_a_semaphore_a_stray_lock_among_the_leases_does_not_hold},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, fake_world_end);
}
