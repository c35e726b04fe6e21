/* SPDX-License-Identifier: MIT */
/* The parts that a session keeps of its configuration, which is its caller's. */
#include "session_world.h"
#include "zookeeper/tls.h"

#include <stdlib.h>
#include <string.h>

static void what_it_needs_is_copied(void) {
    char hosts[] = "10.0.0.1:2181/a/root", identifier[] = "host 1", tls[] = "ca,cert,key,pass";
    world_start_anew(&(zkl_config){.hosts = hosts,
                                   .session_timeout = SESSION_TIMEOUT,
                                   .identifier = identifier,
                                   .tls = tls,
                                   .acl = ZKL_ACL_READ});
    memset(hosts, 'x', sizeof hosts);
    memset(identifier, 'x', sizeof identifier);
    memset(tls, 'x', sizeof tls);
    CHECK_TEXT(world.context.identifier, "host 1");
    CHECK_INT(world.context.chroot, strlen("/a/root"));
    CHECK(world.context.acl == ZKL_ACL_READ);
    CHECK(strncmp(world.session.config.tls, "ca,cert,key,pass", 16) == 0);
    CHECK_TEXT(world.session.servers.chroot, "/a/root");
    CHECK_INT(world.session.timeout, SESSION_TIMEOUT * ZKL_SECOND);
    CHECK_INT(world.session.state, ZKL_STATE_CONNECTING);
    world_come_up();
}

static size_t wiped;

static void wipe(void *memory, size_t size) {
    memset(memory, 0, size);
    wiped += size;
}

/* In the place of the C library's. */
void explicit_bzero(void *memory, size_t size) {
    wipe(memory, size);
}

/* Its name where buffers are checked (_FORTIFY_SOURCE). It does not call explicit_bzero, which the
   compiler could not inline there with -fno-semantic-interposition (make mutants). */
void __explicit_bzero_chk(void *memory, size_t size, size_t room);
void __explicit_bzero_chk(void *memory, size_t size, size_t room) {
    CHECK(size <= room);
    wipe(memory, size);
}

static bool looks_at_names;

/* In the place of that which asks the library. */
bool zkl_tls_names(void) {
    return looks_at_names;
}

static void a_library_that_looks_at_names_is_told_those_of_the_servers(void) {
    static const char *const hosts[] = {"10.0.0.1:2181", "10.0.0.1:2181,10.0.0.22:2182,10.0.0.3"};
    static const char *const names[] = {"c,c,k,p,10.0.0.1", "c,c,k,p,10.0.0.1 10.0.0.22 10.0.0.3"};
    for (size_t i = 0; i < 4; i++) {
        looks_at_names = i < 2;
        world_start_anew(&(zkl_config){
            .hosts = hosts[i % 2], .session_timeout = SESSION_TIMEOUT, .tls = "c,c,k,p"});
        CHECK_TEXT(world.session.config.tls, looks_at_names ? names[i] : "c,c,k,p");
    }
}

/* Nothing of it stays in memory behind the last link, which reads it. */
static void secrets_go_with_the_last_link(void) {
    const zkl_auth auth = {"digest", "me:secret"};
    world_start_anew(&(zkl_config){.hosts = "10.0.0.1:2181",
                                   .session_timeout = SESSION_TIMEOUT,
                                   .tls = "ca,cert,key,pass",
                                   .auths = &auth,
                                   .auth_count = 1});
    world_work();
    world_enter();
    zkl_session_ending(&world.session);
    world_leave();
    CHECK(world.session.config.tls && world.session.config.auths);
    const size_t secrets = strlen(world.session.config.tls) + strlen(auth.credential);
    wiped = 0;
    zkl_session_end(&world.session, world.now + ZKL_SECOND);
    CHECK_INT(wiped, secrets);
    CHECK(!world.session.config.tls && !world.session.config.auths);
    CHECK_INT(world.session.config.auth_count, 0);
}

static void without_any_nothing_is_kept(void) {
    CHECK_TEXT(world.context.identifier, "");
    CHECK(world.context.acl == ZKL_ACL_OPEN);
    CHECK(world.session.config.tls == NULL);
    CHECK_INT(world.session.config.auth_count, 0);
    CHECK_INT(world.context.chroot, 0);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"what it needs is copied", what_it_needs_is_copied},
        {"a library that looks at names is told those of the servers",
         a_library_that_looks_at_names_is_told_those_of_the_servers},
        {"secrets go with the last link", secrets_go_with_the_last_link},
        {"without any nothing is kept", without_any_nothing_is_kept},
    };
    return check_run(CHECK_CASES(cases), argc, argv, world_begin, world_end);
}
