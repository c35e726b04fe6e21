/* SPDX-License-Identifier: MIT */
#include "cli/nodes/input.h"

#include "cli/complaint.h"
#include "cli/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *cli_input_read(size_t *length) {
    char *data = cli_memory(CLI_INPUT_MOST);
    *length = 0;
    while (*length < CLI_INPUT_MOST) {
        const ssize_t got = read(STDIN_FILENO, data + *length, CLI_INPUT_MOST - *length);
        if (got == 0)
            break;
        if (got > 0) {
            *length += (size_t)got;
        } else if (errno != EINTR) {
            cli_complain("cannot read standard input: %s", strerror(errno));
            free(data);
            return NULL;
        }
    }
    return data;
}
