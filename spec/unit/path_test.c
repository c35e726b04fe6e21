/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "zklock_host.h"

#include <string.h>

static void check_spelled(const char *path, bool expected) {
    check_note("path: %s", path);
    CHECK(zkl_path_is_spelled(path) == expected);
}

/* Tried with ZooKeeper 3.8: a create is answered with ZOK. */
static void takes_what_servers_take(void) {
    static const char *const good[] = {
        "/",
        "/a b~",
        "/\xc2\xa0",     /* U+00A0 */
        "/\xc3\xa4",     /* a letter with dots */
        "/\xc3\x80",     /* U+00C0 */
        "/\xdf\xbf",     /* U+07FF */
        "/\xe0\xa0\x80", /* U+0800 */
        "/\xe6\x97\xa5", /* an ideograph */
        "/\xed\x9f\xbf", /* U+D7FF */
        "/\xef\xa4\x80", /* U+F900 */
        "/\xef\xbf\xaf", /* U+FFEF */
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check_spelled(good[i], true);
}

/* ... with ZBADARGUMENTS. */
static void refuses_what_servers_refuse(void) {
    static const char *const bad[] = {
        "/\x01",
        "/\x1f",
        "/\x7f",
        "/\xc2\x80",         /* U+0080 */
        "/\xc2\x9f",         /* U+009F */
        "/\xee\x80\x80",     /* U+E000: for private use */
        "/\xef\xa3\xbf",     /* U+F8FF */
        "/\xef\xbf\xb0",     /* U+FFF0 */
        "/\xef\xbf\xbd",     /* U+FFFD: what they read when it is no UTF-8 */
        "/\xf0\x9f\x98\x80", /* a face: Java has two for it */
        "/\xed\xa0\x80",     /* half of one */
        "/\xff",
        "/\x80",
        "/\xc3",
        "/\xc3/",
        "/\xe6\x97",
        "/\xc0\xaf",         /* a slash, spelled too long */
        "/\xe0\x80\xaf",     /* likewise */
        "/\xc1\x80",         /* an @, likewise */
        "/\xe0\x9f\xbf",     /* U+07FF, likewise */
        "/\xf4\x90\x80",     /* a beginning that no character has, and two bytes more */
        "/\x84\xa0\x80",     /* one that only goes on */
        "/\xf0\x80\xa0\x80", /* U+0800, spelled too long */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_spelled(bad[i], false);
}

static void knows_what_a_path_is(void) {
    static const char *const good[] = {"/", "/a", "/a/b", "/.a", "/a..", "/...", "/a b/c"};
    static const char *const bad[] = {"",   "a",   "a/b",    "//",    "/a/",   "/a//b", "//a",
                                      "/.", "/..", "/a/./b", "/a/..", "/\x01", "/a\nb", "/\xff"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        check_note("path: %s", good[i]);
        CHECK(zkl_path_is_valid(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check_note("path: %s", bad[i]);
        CHECK(!zkl_path_is_valid(bad[i]));
    }
}

static void check_problem(const char *path, const char *chroot, zkl_path_use use,
                          const char *expected) {
    const char *problem = zkl_path_problem(path, chroot, use);
    check_note("path: %s, use %d: %s", path, (int)use, problem ? problem : "none");
    CHECK(expected ? problem && strstr(problem, expected) : !problem);
    if (use == ZKL_PATH_LOCK && !*chroot)
        CHECK(zkl_path_is_lock(path) == !problem);
}

static void says_why_a_path_is_refused(void) {
    static const struct {
        const char *path, *problem;
    } always[] = {
        {"", "begin with"},       {"a", "begin with"},    {"/a/", "not end with"},
        {"//a", "empty"},         {"/a//b", "empty"},     {"/a/./b", "component '.'"},
        {"/..", "component '.'"}, {"/a\nb", "control"},   {"/\x1f", "control"},
        {"/\x7f", "control"},     {"/\xff", "ZooKeeper"}, {"/a", NULL},
        {"/a b/...", NULL},       {"/zookeeperx", NULL},  {"/a/zookeeper", NULL},
    };
    static const char *const one = "/_c_00000000-0000-0000-0000-000000000000-lock-0000000001";
    for (zkl_path_use use = ZKL_PATH_LOCK; use <= ZKL_PATH_DELETE; use++) {
        for (size_t i = 0; i < sizeof always / sizeof *always; i++)
            check_problem(always[i].path, "", use, always[i].problem);
        const bool stays = use == ZKL_PATH_LOCK || use == ZKL_PATH_DELETE;
        const bool named = use == ZKL_PATH_LOCK || use == ZKL_PATH_CREATE;
        check_problem("/", "", use, stays ? "below '/'" : NULL);
        check_problem("/zookeeper", "", use, use == ZKL_PATH_READ ? NULL : "reserved");
        check_problem("/zookeeper/quota", "", use, use == ZKL_PATH_READ ? NULL : "reserved");
        check_problem(one, "", use, named ? "lock's node" : NULL);
    }
}

/* "/xxx/xxx...": so many bytes, in components of `size`. */
static const char *path_of(char *text, size_t bytes, size_t size) {
    memset(text, 'x', bytes);
    for (size_t i = 0; i < bytes; i += size + 1)
        text[i] = '/';
    text[bytes] = '\0';
    return text;
}

static void bounds_a_path_and_its_chroot(void) {
    char text[5000];
    check_problem(path_of(text, 256, 255), "", ZKL_PATH_LOCK, NULL);
    check_problem(path_of(text, 257, 256), "", ZKL_PATH_READ, "255 bytes");
    check_problem(path_of(text, 4096, 255), "", ZKL_PATH_LOCK, NULL);
    check_problem(path_of(text, 4096, 255), "/c", ZKL_PATH_LOCK, "4096 bytes");
    check_problem(path_of(text, 4094, 255), "/c", ZKL_PATH_WRITE, NULL);
    check_problem(path_of(text, 4098, 255), "", ZKL_PATH_READ, "4096 bytes");
    check_problem(path_of(text, 256, 1), "", ZKL_PATH_LOCK, NULL);
    check_problem(path_of(text, 258, 1), "", ZKL_PATH_LOCK, "128 components");
    check_problem(path_of(text, 254, 1), "/c", ZKL_PATH_LOCK, NULL);
    check_problem(path_of(text, 256, 1), "/c", ZKL_PATH_DELETE, "128 components");
}

/* ---- every text of so many bytes ---- */

/* Those that are one character which servers take, by its spelling. */
static bool one[256], two[256][256], three[256][256][256];

static void spell(unsigned code) {
    const unsigned last = 0x80 | (code & 0x3f), middle = 0x80 | (code >> 6 & 0x3f);
    if (code < 0x80)
        one[code] = true;
    else if (code < 0x800)
        two[0xc0 | code >> 6][last] = true;
    else
        three[0xe0 | code >> 12][middle][last] = true;
}

static void spell_all(void) {
    for (unsigned code = 0x20; code <= 0x7e; code++)
        spell(code);
    for (unsigned code = 0xa0; code <= 0xd7ff; code++)
        spell(code);
    for (unsigned code = 0xf900; code <= 0xffef; code++)
        spell(code);
}

static bool is_text(const unsigned char *text, size_t length) {
    return length == 0 || (one[*text] && is_text(text + 1, length - 1)) ||
           (length > 1 && two[*text][text[1]] && is_text(text + 2, length - 2)) ||
           (length > 2 && three[*text][text[1]][text[2]] && is_text(text + 3, length - 3));
}

/* Any byte, and behind it those around every bound that there is. */
static void agrees_with_every_spelling(void) {
    static const unsigned char bytes[] = {
        0,    'a',  0x7e, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x9f, 0xa0, 0xa3, 0xa4, 0xaf,
        0xb0, 0xbe, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xff,
    };
    const size_t count = sizeof bytes;
    unsigned good = 0;
    spell_all();
    for (unsigned first = 1; first < 256; first++) {
        for (size_t n = 0; n < count * count * count; n++) {
            const unsigned char text[] = {(unsigned char)first, bytes[n % count],
                                          bytes[n / count % count], bytes[n / count / count], 0};
            const bool is = zkl_path_is_spelled((const char *)text);
            const size_t length = strlen((const char *)text);
            if (is != is_text(text, length))
                check_fail(__FILE__, __LINE__, "%02x %02x %02x %02x", text[0], text[1], text[2],
                           text[3]);
            good += is;
        }
    }
    CHECK(good > 1000);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"accepts the paths that the servers accept", takes_what_servers_take},
        {"refuses the paths that the servers refuse", refuses_what_servers_refuse},
        {"knows what a path is", knows_what_a_path_is},
        {"says why a path is refused", says_why_a_path_is_refused},
        {"bounds a path together with its chroot", bounds_a_path_and_its_chroot},
        {"agrees with every spelling", agrees_with_every_spelling},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
