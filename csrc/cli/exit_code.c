/* SPDX-License-Identifier: MIT */
#include "cli/exit_code.h"

#include <stddef.h>

static const struct {
    zkl_status status;
    int code;
} codes[] = {
    {ZKL_OK, 0},
    {ZKL_WRONG_KIND, EX_DATAERR},
    {ZKL_DEADLOCK, EX_DATAERR},
    {ZKL_BAD_VERSION, EX_DATAERR},
    {ZKL_NOT_EMPTY, EX_DATAERR},
    {ZKL_TOO_BIG, EX_DATAERR},
    {ZKL_NO_NODE, EX_NOINPUT},
    {ZKL_TIMEOUT, EX_UNAVAILABLE},
    {ZKL_DISCONNECTED, EX_UNAVAILABLE},
    {ZKL_NODE_EXISTS, EX_CANTCREAT},
    {ZKL_LOST, EX_TEMPFAIL},
    {ZKL_UNKNOWN, EX_PROTOCOL},
    {ZKL_ACCESS_DENIED, EX_NOPERM},
    {ZKL_AUTH_FAILED, EX_NOPERM},
};

int cli_exit_code(zkl_status status) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].status == status)
            return codes[i].code;
    return EX_SOFTWARE;
}
