/* SPDX-License-Identifier: MIT */
#include "recipe/znode.h"
#include "zklock_host.h"

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

static const char *problem_of_component(const char *component, size_t length, zkl_path_use use) {
    int32_t sequence;
    const bool named = use == ZKL_PATH_LOCK || use == ZKL_PATH_CREATE;
    if (length == 0)
        return "it has an empty component";
    if (length > COMPONENT_MOST)
        return "it has a component of more than 255 bytes";
    if (is_dots(component, length))
        return "it has the component '.' or '..'";
    /* in the line of a lock one level up it would keep that lock's callers waiting */
    if (named && zkl_znode_kind(component, length, &sequence) != ZKL_KIND_NONE)
        return "a component could be the name of a lock's node";
    return NULL;
}

static const char *problem_of_components(const char *path, zkl_path_use use) {
    while (*path) {
        path++; /* the slash */
        const size_t length = strcspn(path, "/");
        const char *problem = problem_of_component(path, length, use);
        if (problem)
            return problem;
        path += length;
    }
    return NULL;
}

static size_t count_components(const char *path) {
    size_t count = 0;
    for (; (path = strchr(path, '/')); path++)
        count++;
    return count;
}

static const char *problem_of_length(const char *path, const char *chroot) {
    const size_t length = strlen(chroot) + strlen(path);
    if (length > PATH_MOST)
        return "it has more than 4096 bytes with the chroot";
    if (length > COMPONENTS_MOST &&
        count_components(chroot) + count_components(path) > COMPONENTS_MOST)
        return "it has more than 128 components with the chroot";
    return NULL;
}

static bool has_control(const char *path) {
    for (; *path; path++)
        if ((unsigned char)*path < 0x20 || *path == 0x7f)
            return true;
    return false;
}

const char *zkl_path_problem(const char *path, const char *chroot, zkl_path_use use) {
    if (path[0] != '/')
        return "it must begin with '/'";
    if (!path[1])
        return use == ZKL_PATH_LOCK || use == ZKL_PATH_DELETE ? "it must name a node below '/'"
                                                              : NULL;
    if (path[strlen(path) - 1] == '/')
        return "it must not end with '/'";
    const bool spelled = zkl_path_is_spelled(path);
    if (!spelled && has_control(path))
        return "it must not contain control characters";
    const char *problem = problem_of_components(path, use);
    if (problem)
        return problem;
    if (use != ZKL_PATH_READ && zkl_path_is_reserved(path))
        return "/zookeeper is reserved for the servers";
    if (!spelled)
        return "it contains a character that ZooKeeper rejects";
    return problem_of_length(path, chroot);
}

bool zkl_path_is_lock(const char *path) {
    return !zkl_path_problem(path, "", ZKL_PATH_LOCK);
}
