/* SPDX-License-Identifier: MIT */
#include "recipe/znode.h"
#include "zklock.h"

#include <stdint.h>
#include <string.h>

/* Of a lock's path, without the chroot. A node below it fits into ZKL_NODE_PATH. */
enum { PATH_MOST = 4096, COMPONENTS_MOST = 128, COMPONENT_MOST = 255 };

/* How many bytes follow the first byte of a character, and that byte's value. 3: no character that
 * the servers accept begins with it. */
static unsigned lead(unsigned char byte, uint32_t *code) {
    if (byte < 0x80) {
        *code = byte;
        return 0;
    }
    if (byte >= 0xc2 && byte <= 0xdf) {
        *code = byte & 0x1fU;
        return 1;
    }
    *code = byte & 0x0fU;
    return byte >= 0xe0 && byte <= 0xef ? 2 : 3;
}

/* The characters from U+D800 on that the servers accept. The others are halves of those that Java
 * cannot encode as one, or private. */
static bool is_taken(uint32_t code) {
    return (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code < 0xd800) ||
           (code >= 0xf900 && code < 0xfff0);
}

bool zkl_path_is_spelled(const char *path) {
    while (*path) {
        uint32_t code;
        const unsigned more = lead((unsigned char)*path++, &code);
        if (more > 2)
            return false;
        for (unsigned i = 0; i < more; i++, path++) {
            if (((unsigned char)*path & 0xc0U) != 0x80) /* also refuses the end of the text */
                return false;
            code = code << 6 | ((unsigned char)*path & 0x3fU);
        }
        if (!is_taken(code) || (more == 2 && code < 0x800))
            return false;
    }
    return true;
}

static bool is_dots(const char *component, size_t length) {
    return length <= 2 && strncmp(component, "..", length) == 0;
}

bool zkl_path_is_valid(const char *path) {
    if (path[0] != '/' || !zkl_path_is_spelled(path))
        return false;
    for (const char *at = path; path[1] && *at;) {
        at++; /* the slash */
        const size_t length = strcspn(at, "/");
        if (is_dots(at, length)) /* also one without a character */
            return false;
        at += length;
    }
    return true;
}

bool zkl_path_is_reserved(const char *path) {
    static const char reserved[] = "/zookeeper";
    const size_t length = sizeof reserved - 1;
    return strncmp(path, reserved, length) == 0 && (path[length] == '/' || !path[length]);
}

/* False for the name of a node in the line of a lock one level up: it would keep that lock's
 * callers waiting. */
static bool is_component_of_lock(const char *component, size_t length) {
    int32_t sequence;
    return length <= COMPONENT_MOST &&
           zkl_znode_kind(component, length, &sequence) == ZKL_KIND_NONE;
}

bool zkl_path_is_lock(const char *path) {
    if (!zkl_path_is_valid(path) || !path[1] || zkl_path_is_reserved(path) ||
        strlen(path) > PATH_MOST)
        return false;
    size_t components = 0;
    for (const char *at = path; *at; components++) {
        at++; /* the slash */
        const size_t length = strcspn(at, "/");
        if (!is_component_of_lock(at, length))
            return false;
        at += length;
    }
    return components <= COMPONENTS_MOST;
}
