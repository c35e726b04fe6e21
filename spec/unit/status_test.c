/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "base/status.h"

#include <string.h>
#include <zookeeper/zookeeper.h>

static void ours_have_their_texts(void) {
    static const struct {
        zkl_status status;
        const char *text;
    } table[] = {
        {ZKL_TIMEOUT, "timeout"},
        {ZKL_DISCONNECTED, "disconnected"},
        {ZKL_CANCELLED, "cancelled"},
        {ZKL_CLOSED, "closed"},
        {ZKL_NOT_OWNER, "not owner"},
        {ZKL_LOST, "lost"},
        {ZKL_DEADLOCK, "deadlock"},
        {ZKL_WRONG_KIND, "wrong kind"},
        {ZKL_ACCESS_DENIED, "access denied"},
        {ZKL_AUTH_FAILED, "auth failed"},
        {ZKL_FORKED, "forked"},
        {ZKL_TOO_BIG, "too big"},
        {ZKL_TOO_MANY, "too many"},
        {ZKL_BUSY, "busy"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        CHECK_TEXT(zkl_status_text(table[i].status), table[i].text);
    for (zkl_status status = ZKL_OK; status <= ZKL_STATUS_LAST; status++)
        CHECK(zkl_status_text(status) && *zkl_status_text(status));
}

static void theirs_are_named_after_zookeeper(void) {
    CHECK_TEXT(zkl_status_text(ZNONODE), "zookeeper: NONODE");
    CHECK_TEXT(zkl_status_text(ZNOTEMPTY), "zookeeper: NOTEMPTY");
    CHECK_TEXT(zkl_status_text(ZDATAINCONSISTENCY), "zookeeper: DATAINCONSISTENCY");
    CHECK_TEXT(zkl_status_text(ZTHROTTLEDOP), "zookeeper: THROTTLEDOP");
    CHECK_TEXT(zkl_status_text(-12), "zookeeper: UNKNOWNSESSION");
    CHECK_TEXT(zkl_status_text(-125), "zookeeper: QUOTAEXCEEDED");
    CHECK_TEXT(zkl_status_text(ZEPHEMERALONLOCALSESSION),
               "zookeeper: EPHEMERALONLOCALSESSION (the servers need "
               "localSessionsUpgradingEnabled=true)");
    for (int rc = -200; rc < 0; rc++)
        CHECK(strncmp(zkl_status_text(rc), "zookeeper: ", 11) == 0);
}

static void numbers_of_nobody_have_a_text(void) {
    CHECK_TEXT(zkl_status_text(-9999), "zookeeper: UNKNOWN");
    CHECK_TEXT(zkl_status_text(9999), "zookeeper: UNKNOWN");
}

static void refusals_become_ours(void) {
    CHECK_INT(zkl_status_of(ZOK), ZKL_OK);
    CHECK_INT(zkl_status_of(ZNOAUTH), ZKL_ACCESS_DENIED);
    CHECK_INT(zkl_status_of(ZAUTHFAILED), ZKL_AUTH_FAILED);
    CHECK_INT(zkl_status_of(ZCLOSING), ZKL_CLOSED);
    CHECK_INT(zkl_status_of(ZBADVERSION), ZBADVERSION);
}

static void only_cut_off_requests_are_in_doubt(void) {
    static const int doubtful[] = {
        ZCONNECTIONLOSS,    ZOPERATIONTIMEOUT, ZSESSIONEXPIRED,    ZSESSIONMOVED,
        ZCLOSING,           ZINVALIDSTATE,     ZMARSHALLINGERROR,  ZRUNTIMEINCONSISTENCY,
        ZDATAINCONSISTENCY, ZSYSTEMERROR,      ZSSLCONNECTIONERROR};
    static const int certain[] = {ZOK,       ZNONODE,      ZNODEEXISTS,    ZNOAUTH,
                                  ZNOTEMPTY, ZTHROTTLEDOP, ZUNIMPLEMENTED, ZBADARGUMENTS};
    for (size_t i = 0; i < sizeof doubtful / sizeof *doubtful; i++)
        CHECK(zkl_status_unknown(doubtful[i]));
    for (size_t i = 0; i < sizeof certain / sizeof *certain; i++)
        CHECK(!zkl_status_unknown(certain[i]));
}

static void only_throttling_passes(void) {
    CHECK(zkl_status_throttled(ZTHROTTLEDOP));
    for (int rc = -130; rc <= 0; rc++)
        CHECK(rc == ZTHROTTLEDOP || !zkl_status_throttled(rc));
    CHECK(zkl_status_passes(ZTHROTTLEDOP));
    CHECK(zkl_status_passes(ZCONNECTIONLOSS));
    CHECK(!zkl_status_passes(ZNOAUTH));
    CHECK(!zkl_status_passes(ZOK));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"every code of ours has the text of the contract", ours_have_their_texts},
        {"every answer of the servers is called by its name", theirs_are_named_after_zookeeper},
        {"a number that means nothing has a text, too", numbers_of_nobody_have_a_text},
        {"refusals of the servers become codes of ours", refusals_become_ours},
        {"only what was cut off is in doubt", only_cut_off_requests_are_in_doubt},
        {"only throttling is worth another try", only_throttling_passes},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
