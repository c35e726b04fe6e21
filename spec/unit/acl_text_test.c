/* SPDX-License-Identifier: MIT */
/* The lines that people are shown of an ACL. */
#include "check.h"
#include "zookeeper/acl_text.h"

#include <stdlib.h>
#include <zookeeper/zookeeper.h>

static void check_lines(const struct ACL_vector *acl, const char *lines) {
    char *text = zkl_acl_text(acl);
    CHECK_TEXT(text, lines);
    free(text);
}

static void each_entry_is_a_line(void) {
    struct ACL entries[] = {{ZOO_PERM_ALL, {(char *)"world", (char *)"anyone"}},
                            {ZOO_PERM_READ | ZOO_PERM_DELETE, {(char *)"digest", (char *)"a:b"}},
                            {0, {(char *)"ip", (char *)""}}};
    check_lines(&(struct ACL_vector){3, entries}, "world:anyone:rwcda\ndigest:a:b:rd\nip::\n");
}

static void each_permission_has_its_letter(void) {
    const struct {
        int32_t permission;
        const char *line;
    } cases[] = {{ZOO_PERM_READ, "x:y:r\n"},   {ZOO_PERM_WRITE, "x:y:w\n"},
                 {ZOO_PERM_CREATE, "x:y:c\n"}, {ZOO_PERM_DELETE, "x:y:d\n"},
                 {ZOO_PERM_ADMIN, "x:y:a\n"},  {~ZOO_PERM_ALL, "x:y:\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ACL entry = {cases[i].permission, {(char *)"x", (char *)"y"}};
        check_lines(&(struct ACL_vector){1, &entry}, cases[i].line);
    }
}

static void an_empty_acl_has_no_lines(void) {
    check_lines(&(struct ACL_vector){0, NULL}, "");
}

int main(int argc, char **argv) {
    static const check_case cases[] = {
        {"each entry is a line", each_entry_is_a_line},
        {"each permission has its letter", each_permission_has_its_letter},
        {"an empty ACL has no lines", an_empty_acl_has_no_lines},
    };
    return check_run(CHECK_CASES(cases), argc, argv, NULL, NULL);
}
