/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "recipe/znode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURATOR "_c_5a3c8a0e-9d1f-4c53-b0a8-6d8e1f0c2b77-"

static void check_parsed(const char *name, zkl_kind kind, int32_t sequence) {
    int32_t got = 77;
    check_note("name: %s", name);
    CHECK_INT(zkl_znode_parse(name, &got), kind);
    if (kind)
        CHECK_INT(got, sequence);
}

static void check_garbage(const char *name) {
    check_parsed(name, ZKL_KIND_NONE, 0);
}

static void what_is_made_is_read(void) {
    static const zkl_kind kinds[] = {ZKL_KIND_LOCK, ZKL_KIND_READ, ZKL_KIND_WRITE, ZKL_KIND_LEASE};
    static const zkl_guid guids[] = {
        {0, 0},
        {1, 2},
        {ZKL_GUID_MASK, ZKL_GUID_MASK},
        {UINT64_C(0x123456789abcdef), UINT64_C(0xfedcba987654321)},
    };
    for (size_t k = 0; k < 4; k++) {
        for (size_t g = 0; g < 4; g++) {
            char name[ZKL_ZNODE_SIZE], full[ZKL_ZNODE_SIZE + 16];
            zkl_guid guid;
            zkl_znode_make(name, guids[g], kinds[k]);
            snprintf(full, sizeof full, "%s%010d", name, 42);
            CHECK(strlen(full) < ZKL_ZNODE_SIZE);
            check_parsed(full, kinds[k], 42);
            CHECK(zkl_znode_guid(full, &guid));
            CHECK(guid.client == guids[g].client && guid.number == guids[g].number);
        }
    }
}

static void is_a_version_4_uuid(void) {
    char name[ZKL_ZNODE_SIZE];
    zkl_znode_make(name, (zkl_guid){ZKL_GUID_MASK, 1}, ZKL_KIND_LOCK);
    CHECK_TEXT(name, "_c_ffffffff-ffff-4fff-8000-000000000001-lock-");
    zkl_znode_make(name, (zkl_guid){1, ZKL_GUID_MASK}, ZKL_KIND_READ);
    CHECK_TEXT(name, "_c_00000000-0000-4001-8fff-ffffffffffff-__READ__");
    zkl_znode_make(name, (zkl_guid){0, 0}, ZKL_KIND_WRITE);
    CHECK_TEXT(name, "_c_00000000-0000-4000-8000-000000000000-__WRIT__");
}

/* The servers' printf is the measure. */
static void appends_numbers_as_the_servers_print_them(void) {
    static const int32_t numbers[] = {0,         7,          999999999,  1000000000,  INT32_MAX,
                                      -1,        -10,        -999999999, -1000000000, -1000000001,
                                      INT32_MIN, 1234567890, -1234567890};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char name[ZKL_ZNODE_SIZE] = "x-lock-", printed[ZKL_ZNODE_SIZE];
        zkl_znode_append(name, numbers[i]);
        snprintf(printed, sizeof printed, "x-lock-%010" PRId32, numbers[i]);
        CHECK_TEXT(name, printed);
    }
}

static void a_path_is_directory_and_name(void) {
    char *path = zkl_znode_path("/app/a", "b-lock-0000000001");
    CHECK_TEXT(path, "/app/a/b-lock-0000000001");
    free(path);
}

static void reads_the_names_of_others(void) {
    check_parsed(CURATOR "lock-0000000007", ZKL_KIND_LOCK, 7);
    check_parsed(CURATOR "__READ__0000000008", ZKL_KIND_READ, 8);
    check_parsed(CURATOR "__WRIT__0000000009", ZKL_KIND_WRITE, 9);
    check_parsed("_c_0123456789abcdef0123456789abcdef-lock-0000000010", ZKL_KIND_LOCK, 10);
    check_parsed("0123456789abcdef0123456789abcdef__lock__0000000011", ZKL_KIND_LOCK, 11);
    check_parsed("lock-0000000012", ZKL_KIND_LOCK, 12);
}

static void reads_all_that_the_servers_print(void) {
    static const int32_t sequences[] = {
        0,  1,  9,   999999999,  1000000000,  INT32_MAX - 1, INT32_MAX,
        -1, -9, -10, -999999999, -1000000000, INT32_MIN + 1, INT32_MIN,
    };
    static const char *const heads[] = {CURATOR "lock-", "ab__lock__", CURATOR "__WRIT__"};
    static const zkl_kind kinds[] = {ZKL_KIND_LOCK, ZKL_KIND_LOCK, ZKL_KIND_WRITE};
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        for (size_t h = 0; h < 3; h++) {
            char name[ZKL_ZNODE_SIZE + 16];
            snprintf(name, sizeof name, "%s%010" PRId32, heads[h], sequences[i]);
            check_parsed(name, kinds[h], sequences[i]);
        }
    }
}

static void garbage_is_nobody(void) {
    static const char *const names[] = {
        "",
        "-",
        "0000000001",
        "-000000001",
        "lock",
        "lock-",
        "lock-1",
        "lock-000000001",   /* nine digits */
        "lock-00000000001", /* eleven */
        "lock-0000000001x",
        "lock-000000000x",
        "lock-2147483648", /* past int32 */
        "lock-9999999999",
        "lock--2147483649",
        "lock--0000000000",
        "lock--000000000", /* minus zero */
        "lock---000000001",
        "lock- 000000001",
        "lock-+000000001",
        "leash-0000000001",
        CURATOR "leash-0000000001",
        "__READ_0000000001",
        "__lock_0000000001",
        "Lock-0000000001",
        "lock_0000000001",
        "lock-99999999999999999999999999999999",
        "\xff\xfe\x80lock",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_garbage(names[i]);
}

static void only_what_the_servers_print_is_a_sequence(void) {
    check_garbage("lock--0000000001"); /* they print -1 with nine digits */
    check_garbage("lock--0999999999");
}

static void a_mark_is_no_lock(void) {
    char name[ZKL_ZNODE_SIZE];
    zkl_guid guid;
    zkl_znode_make_mark(name, (zkl_guid){ZKL_GUID_MASK, ZKL_GUID_MASK});
    CHECK_TEXT(name, "_c_ffffffff-ffff-4fff-8fff-ffffffffffff-mark");
    CHECK(zkl_znode_guid(name, &guid) && guid.client == ZKL_GUID_MASK);
    check_garbage(name);
}

static void reads_only_guids_of_our_form(void) {
    zkl_guid guid;
    static const char *const names[] = {
        "",
        "_c_",
        "lock-0000000001",
        "_c_0123456789abcdef0123456789abcdef-lock-0000000010",
        "_c_5a3c8a0e-9d1f-4c53-b0a8-6d8e1f0c2b77-lock-0000000007",  /* variant b */
        "_c_5a3c8a0e-9d1f-1c53-80a8-6d8e1f0c2b77-lock-0000000007",  /* version 1 */
        "_c_5A3C8A0E-9D1F-4C53-80A8-6D8E1F0C2B77-lock-0000000007",  /* capitals */
        "_c_5a3c8a0e-9d1f-4c53-80a8-6d8e1f0c2b7-lock-0000000007",   /* short */
        "_c_5a3c8a0e-9d1f-4c53-80a8-6d8e1f0c2b777-lock-0000000007", /* long */
        "_c_5a3c8a0e-9d1f-4c53-80a8-6d8e1f0c2b77",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        check_note("name: %s", names[i]);
        CHECK(!zkl_znode_guid(names[i], &guid));
    }
}

static uint32_t any32(void) {
    return (uint32_t)random() ^ (uint32_t)random() << 16;
}

/* ---- any bytes ---- */

static const char *const pieces[] = {
    "_c_",    "lock-",     "__lock__", "__READ__", "__WRIT__",
    "-",      "--",        "0",        "1",        "9",
    "00000",  "214748364", "7",        "8",        "5a3c8a0e-9d1f-4c53-80a8-6d8e1f0c2b77-",
    "lease-", "\x80",      "\n",       "f",        "-4",
    "-8",
};

/* Half of them out of pieces of real names, so that many come close. Exactly as long as it must be,
 * so that reading one byte too far is seen. */
static char *any_name(void) {
    char text[400];
    size_t length = 0;
    if (random() % 2) {
        for (unsigned n = (unsigned)random() % 8; n-- > 0;) {
            const char *piece = pieces[(size_t)random() % (sizeof pieces / sizeof *pieces)];
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
        }
    } else {
        for (unsigned n = (unsigned)random() % 80; n-- > 0;)
            text[length++] = (char)(1 + random() % 255);
    }
    if (random() % 3 == 0)
        length += (size_t)sprintf(text + length, "%010d", (int)any32());
    char *name = malloc(length + 1);
    CHECK(name != NULL);
    memcpy(name, text, length);
    name[length] = '\0';
    return name;
}

static void check_prints_back(const char *name, zkl_kind kind, int32_t sequence) {
    static const char *const markers[] = {"", "lock-", "__READ__", "__WRIT__", "lease-"};
    char tail[40];
    const size_t length = strlen(name);
    size_t n = (size_t)snprintf(tail, sizeof tail, "%s%010" PRId32, markers[kind], sequence);
    if (n <= length && strcmp(name + length - n, tail) == 0)
        return;
    CHECK_INT(kind, ZKL_KIND_LOCK);
    n = (size_t)snprintf(tail, sizeof tail, "__lock__%010" PRId32, sequence);
    CHECK(n <= length && strcmp(name + length - n, tail) == 0);
}

static void any_bytes_are_safe_and_print_back(void) {
    unsigned kinds[5] = {0}, guids = 0;
    for (unsigned i = 0; i < 400000; i++) {
        char *name = any_name();
        check_note("name: %s", name);
        int32_t sequence = 0;
        const zkl_kind kind = zkl_znode_parse(name, &sequence);
        kinds[kind]++;
        if (kind)
            check_prints_back(name, kind, sequence);
        zkl_guid guid;
        if (zkl_znode_guid(name, &guid)) {
            char made[ZKL_ZNODE_SIZE];
            zkl_znode_make(made, guid, ZKL_KIND_LOCK);
            CHECK(strncmp(made, name, strlen("_c_00000000-0000-4000-8000-000000000000-")) == 0);
            guids++;
        }
        free(name);
    }
    /* Else this would have tried nothing. */
    CHECK(kinds[ZKL_KIND_LOCK] > 100 && kinds[ZKL_KIND_READ] > 100 && kinds[ZKL_KIND_WRITE] > 100);
    CHECK(guids > 100);
}

static void begin(void) {
    srandom(7);
}

/* Whatever stands before it in memory. */
static void what_is_before_a_name_does_not_matter(void) {
    static const char negative[] = "lock--1000000001", positive[] = "lock-0000000001";
    int32_t sequence;
    CHECK_INT(zkl_znode_parse(negative, &sequence), ZKL_KIND_LOCK);
    CHECK_INT(zkl_znode_parse(negative + strlen("lock--"), &sequence), ZKL_KIND_NONE);
    CHECK_INT(zkl_znode_parse(positive, &sequence), ZKL_KIND_LOCK);
    CHECK_INT(zkl_znode_parse(positive + strlen("lock-0"), &sequence), ZKL_KIND_NONE);
    static const char *const names[] = {"lock-0000000001",    "__lock__0000000001",
                                        "__READ__0000000001", "__WRIT__0000000001",
                                        "lease-0000000001",   "lock--1000000001"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *text = names[i] + 1; *text; text++)
            CHECK_INT(zkl_znode_parse(text, &sequence), ZKL_KIND_NONE);
}

static void a_guid_has_hexadecimal_digits(void) {
    zkl_guid guid;
    CHECK(zkl_znode_guid("_c_00000000-0000-4000-8000-00000000000f-lock-", &guid));
    CHECK_INT(guid.number, 15);
    CHECK(!zkl_znode_guid("_c_00000000-0000-4000-8000-00000000000g-lock-", &guid));
    CHECK(!zkl_znode_guid("_c_00000000-0000-4000-8000-00000000000`-lock-", &guid));
    CHECK(!zkl_znode_guid("_c_00000000-0000-4000-8000-00000000000A-lock-", &guid));
    CHECK(!zkl_znode_guid("_c_00000000-0000-4000-8000-00000000000:-lock-", &guid));
    CHECK(!zkl_znode_guid("_c_00000000-0000-4000-8000-00000000000/-lock-", &guid));
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"a name that was made is read back", what_is_made_is_read},
        {"the GUID in a name is a version 4 UUID", is_a_version_4_uuid},
        {"a number is appended as the servers would", appends_numbers_as_the_servers_print_them},
        {"a node's path is its directory, a slash and its name", a_path_is_directory_and_name},
        {"reads the names of Curator, Go's zk and kazoo", reads_the_names_of_others},
        {"reads every sequence as the servers print it", reads_all_that_the_servers_print},
        {"garbage is nobody's name", garbage_is_nobody},
        {"a sequence the servers would print otherwise is garbage",
         only_what_the_servers_print_is_a_sequence},
        {"a mark bears a GUID and is no lock's node", a_mark_is_no_lock},
        {"takes no GUID of another form for one of ours", reads_only_guids_of_our_form},
        {"any bytes are read safely, and what is read prints back",
         any_bytes_are_safe_and_print_back},
        {"what is before a name does not matter", what_is_before_a_name_does_not_matter},
        {"a GUID has hexadecimal digits", a_guid_has_hexadecimal_digits},
    };
    return check_run(CHECK_CASES(cases), argc, argv, begin, NULL);
}
