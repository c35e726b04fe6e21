/* SPDX-License-Identifier: MIT */
/* The entries that name anybody, in the ACL of a directory in which somebody is to hold. */
#include "check.h"
#include "zookeeper/acl_exposure.h"

#include <zookeeper/zookeeper.h>

#define ALL ZOO_PERM_ALL

static bool exposed_to(int32_t perms, const char *scheme, const char *id) {
    struct ACL entries[] = {
        {ALL, {(char *)"digest", (char *)"user:k0pTlqLuCPPxNrkhEwt+5Cyh6S0="}},
        {perms, {(char *)scheme, (char *)id}},
    };
    bool exposed;
    check_note("%s:%s %d", scheme, id, perms);
    CHECK(zkl_acl_exposure_of(&(struct ACL_vector){2, entries}, &exposed));
    return exposed;
}

static void the_world_is_anybody(void) {
    CHECK(exposed_to(ALL, "world", "anyone"));
    CHECK(exposed_to(ZOO_PERM_CREATE, "world", "anyone"));
    CHECK(exposed_to(ZOO_PERM_DELETE, "world", "anyone"));
    CHECK(exposed_to(ZOO_PERM_ADMIN, "world", "anyone"));
    CHECK(!exposed_to(ZOO_PERM_READ | ZOO_PERM_WRITE, "world", "anyone"));
}

static void so_is_every_address(void) {
    static const char *const networks[] = {
        "0.0.0.0/0", "10.1.2.3/0",  "::/0",  "0:0:0:0:0:0:0:0/0", "0.0.0.0/+0", "0.0.0.0/-0",
        "0.0.0.0/1", "128.0.0.0/1", "::/00", "2000::/3",          "0.0.0.0/7",
    };
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        CHECK(exposed_to(ZOO_PERM_DELETE, "ip", networks[i]));
    CHECK(!exposed_to(ZOO_PERM_READ | ZOO_PERM_WRITE, "ip", "0.0.0.0/0"));
}

/* A network that cannot be read may be everybody to a server that can. */
static void so_is_a_network_that_nobody_understands(void) {
    CHECK(exposed_to(ALL, "ip", "10.0.0.0/8x"));
    CHECK(exposed_to(ALL, "ip", "10.0.0.0/"));
    CHECK(exposed_to(ALL, "ip", "10.0.0.0/16/0"));
}

static void a_network_of_ones_own_is_not(void) {
    static const char *const networks[] = {"10.0.0.0/8",  "192.168.0.0/16", "127.0.0.1",
                                           "10.1.2.3/32", "fd00::/8",       "::1"};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        CHECK(!exposed_to(ALL, "ip", networks[i]));
}

static void an_identity_is_not(void) {
    CHECK(!exposed_to(ALL, "digest", "0.0.0.0/0"));
    CHECK(!exposed_to(ALL, "x509", "CN=anyone"));
    CHECK(!exposed_to(ALL, "world", "someone"));
}

static void what_is_no_list_is_known(void) {
    struct ACL nameless = {ALL, {NULL, (char *)"anyone"}};
    bool exposed;
    CHECK(!zkl_acl_exposure_of(NULL, &exposed));
    CHECK(!zkl_acl_exposure_of(&(struct ACL_vector){-1, NULL}, &exposed));
    CHECK(!zkl_acl_exposure_of(&(struct ACL_vector){1, NULL}, &exposed));
    CHECK(!zkl_acl_exposure_of(&(struct ACL_vector){1, &nameless}, &exposed));
    CHECK(zkl_acl_exposure_of(&(struct ACL_vector){0, NULL}, &exposed) && !exposed);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"world:anyone who may create, delete or administer is anybody", the_world_is_anybody},
        {"so is every address, or a good part of them", so_is_every_address},
        {"so is a network that nobody understands", so_is_a_network_that_nobody_understands},
        {"a network of one's own is not", a_network_of_ones_own_is_not},
        {"an identity is not", an_identity_is_not},
        {"what is no list of entries is known as such", what_is_no_list_is_known},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
