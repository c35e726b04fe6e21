/* SPDX-License-Identifier: MIT */
#include "cli/number.h"

#include "cli/complaint.h"
#include "cli/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* strtod also takes hexadecimals, exponents, words, signs and spaces, none of which are meant. */
bool cli_number_seconds(const char *text, double *seconds) {
    static const char digits[] = "0123456789";
    const size_t whole = strspn(text, digits);
    const size_t point = text[whole] == '.';
    const size_t fraction = point ? strspn(text + whole + 1, digits) : 0;
    if (whole + fraction == 0 || text[whole + point + fraction] || whole > 12)
        return false;
    *seconds = strtod(text, NULL); /* main keeps LC_NUMERIC at "C" */
    return true;
}

bool cli_number_whole(const char *text, int64_t least, int64_t most, int64_t *number) {
    char *end;
    const size_t sign = text[0] == '-';
    if (text[sign] < '0' || text[sign] > '9')
        return false;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return errno == 0 && !*end && *number >= least && *number <= most;
}

int cli_number_seconds_of(const char *option, const char *text, double most, double *seconds) {
    char shown[CLI_TEXT_SHOWN];
    const bool good = cli_number_seconds(text, seconds);
    if (good && (most <= 0 || *seconds <= most))
        return 0;
    cli_text_show(shown, sizeof shown, text);
    if (most > 0)
        return cli_misuse(option, "seconds from 0 to %g expected, got '%s'", most, shown);
    return cli_misuse(option, "seconds >= 0 expected, got '%s'", shown);
}

int cli_number_whole_of(const char *option, const char *text, int64_t least, int64_t most,
                        int64_t *number) {
    char shown[CLI_TEXT_SHOWN];
    if (cli_number_whole(text, least, most, number))
        return 0;
    cli_text_show(shown, sizeof shown, text);
    return cli_misuse(option, "integer from %" PRId64 " to %" PRId64 " expected, got '%s'", least,
                      most, shown);
}
