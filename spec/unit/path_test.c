#include "check.h"
#include "recipe/path.h"

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
        "/\xc0\xaf",     /* a slash, spelled too long */
        "/\xe0\x80\xaf", /* likewise */
        "/\xc1\x80",     /* an @, likewise */
        "/\xe0\x9f\xbf", /* U+07FF, likewise */
        "/\xf4\x90\x80", /* a beginning that no character has, and two bytes more */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_spelled(bad[i], false);
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"takes what servers take in a path", takes_what_servers_take},
        {"refuses what servers refuse in a path", refuses_what_servers_refuse},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
