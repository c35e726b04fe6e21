/* SPDX-License-Identifier: MIT */
#include "zookeeper/acl_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

/* The letters of ZooKeeper's own tools. */
static const struct {
    int32_t permission;
    char letter;
} letters[] = {
    {1, 'r'}, {2, 'w'}, {4, 'c'}, {8, 'd'}, {16, 'a'},
};

enum { LETTERS = sizeof letters / sizeof *letters };

static void write_permissions(char text[LETTERS + 1], int32_t permissions) {
    for (size_t i = 0; i < LETTERS; i++)
        if (permissions & letters[i].permission)
            *text++ = letters[i].letter;
    *text = '\0';
}

static size_t room_of(const struct ACL_vector *acl) {
    size_t room = 1;
    for (int32_t i = 0; i < acl->count; i++)
        room += strlen(acl->data[i].id.scheme) + strlen(acl->data[i].id.id) + LETTERS + 3;
    return room;
}

char *zkl_acl_text(const struct ACL_vector *acl) {
    const size_t room = room_of(acl);
    char *text = malloc(room), permissions[LETTERS + 1];
    if (!text)
        return NULL;
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < acl->count; i++) {
        const struct ACL *entry = &acl->data[i];
        write_permissions(permissions, entry->perms);
        used += (size_t)snprintf(text + used, room - used, "%s:%s:%s\n", entry->id.scheme,
                                 entry->id.id, permissions);
    }
    return text;
}
