/* SPDX-License-Identifier: MIT */
#include "cli/path.h"

#include "cli/complaint.h"
#include "cli/text.h"
#include "zklock.h"

#include <string.h>

enum { PATH_BYTES = 4096, PATH_COMPONENTS = 128, COMPONENT_BYTES = 255 };

static size_t count_slashes(const char *text) {
    size_t count = 0;
    for (; (text = strchr(text, '/')); text++)
        count++;
    return count;
}

static const char *problem_of_length(const char *path, const char *hosts) {
    const char *chroot = strchr(hosts, '/');
    if (!chroot || !chroot[1])
        chroot = "";
    if (strlen(chroot) + strlen(path) > PATH_BYTES)
        return "it has more than 4096 bytes with the chroot";
    if (count_slashes(chroot) + count_slashes(path) > PATH_COMPONENTS)
        return "it has more than 128 components with the chroot";
    return NULL;
}

static bool has_control(const char *path) {
    for (; *path; path++)
        if ((unsigned char)*path < 0x20 || *path == 0x7f)
            return true;
    return false;
}

static const char *problem_of_component(const char *component, size_t length, cli_path_use use) {
    char name[COMPONENT_BYTES + 1];
    int32_t sequence;
    if (length == 0)
        return "it has an empty component";
    if (length > COMPONENT_BYTES)
        return "it has a component of more than 255 bytes";
    memcpy(name, component, length);
    name[length] = '\0';
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return "it has the component '.' or '..'";
    if ((use == CLI_PATH_LOCK || use == CLI_PATH_CREATE) && zkl_znode_parse(name, &sequence))
        return "a component could be the name of a lock's node";
    return NULL;
}

static const char *problem_of_components(const char *path, cli_path_use use) {
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

const char *cli_path_problem(const char *path, const char *hosts, cli_path_use use) {
    if (path[0] != '/')
        return "it must begin with '/'";
    if (!path[1])
        return use == CLI_PATH_LOCK || use == CLI_PATH_DELETE ? "it must name a node below '/'"
                                                              : NULL;
    if (path[strlen(path) - 1] == '/')
        return "it must not end with '/'";
    if (has_control(path))
        return "it must not contain control characters";
    const char *problem = problem_of_components(path, use);
    if (problem)
        return problem;
    if (use != CLI_PATH_READ && zkl_path_is_reserved(path))
        return "/zookeeper is reserved for the servers";
    if (!zkl_path_is_spelled(path))
        return "it contains a character that ZooKeeper rejects";
    return problem_of_length(path, hosts);
}

int cli_path_check(const char *argument, const char *path, const char *hosts, cli_path_use use) {
    char shown[CLI_TEXT_SHOWN];
    const char *problem = cli_path_problem(path, hosts, use);
    if (!problem)
        return 0;
    cli_text_show(shown, sizeof shown, path);
    return cli_misuse(argument, "path '%s': %s", shown, problem);
}
