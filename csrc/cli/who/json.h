/* SPDX-License-Identifier: MIT */
/* json: texts on standard output, for programs. */
#ifndef ZKL_CLI_JSON_H
#define ZKL_CLI_JSON_H

/* Writes a text with its quotes. It is spelled as cli/text.h says, so it is UTF-8 without control
 * characters. */
void cli_json_text(const char *text);

#endif
