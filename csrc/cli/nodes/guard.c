/* SPDX-License-Identifier: MIT */
#include "cli/nodes/guard.h"

#include "cli/complaint.h"
#include "cli/memory.h"
#include "cli/path.h"
#include "cli/text.h"
#include "zklock.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static int check_node(const char *source, const char *node) {
    int32_t sequence;
    char shown[CLI_TEXT_SHOWN];
    const char *problem = cli_path_problem(node, "", CLI_PATH_WRITE);
    if (!problem && !zkl_znode_parse(strrchr(node, '/') + 1, &sequence))
        problem = "a lock's node expected, such as those of $ZKLOCK_NODE";
    if (!problem)
        return 0;
    cli_text_show(shown, sizeof shown, node);
    return cli_misuse(source, "path '%s': %s", shown, problem);
}

static int add_node(cli_guard *guard, const char *source, char *node) {
    guard->nodes = cli_memory_again(guard->nodes, guard->count + 1, sizeof *guard->nodes);
    guard->nodes[guard->count++] = node;
    return check_node(source, node);
}

int cli_guard_add(cli_guard *guard, const char *source, const char *list) {
    static const char ends[] = "\r\n";
    const size_t before = guard->count;
    for (const char *line = list; *(line += strspn(line, ends)); line += strcspn(line, ends)) {
        char *node = cli_memory_text(line);
        node[strcspn(node, ends)] = '\0';
        const int code = add_node(guard, source, node);
        if (code)
            return code;
    }
    if (guard->count > before)
        return 0;
    return cli_misuse(source, "lock nodes expected, such as those of $ZKLOCK_NODE, got none");
}

zkl_op *cli_guard_ops(const cli_guard *guard, const zkl_op *write) {
    zkl_op *ops = cli_memory_again(NULL, guard->count + 1, sizeof *ops);
    for (size_t i = 0; i < guard->count; i++)
        ops[i] = (zkl_op){.kind = ZKL_OP_CHECK, .path = guard->nodes[i], .version = -1};
    if (write)
        ops[guard->count] = *write;
    return ops;
}

void cli_guard_free(cli_guard *guard) {
    for (size_t i = 0; i < guard->count; i++)
        free(guard->nodes[i]);
    free(guard->nodes);
    *guard = (cli_guard){.count = 0};
}
