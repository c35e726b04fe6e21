/* SPDX-License-Identifier: MIT */
/* new_file: a file that gets its name only when it is complete: its reader finds the former one or
 * all of the new one. */
#ifndef FILES_NEW_FILE_H
#define FILES_NEW_FILE_H

#define NEW_FILE_SIZE 4096

/* Opens a new file beside `file`, with the permissions that the umask leaves. The caller renames
 * `temporary` to `file`, or unlinks it. -1: errno says why. */
int cli_new_file_open(const char *file, char temporary[NEW_FILE_SIZE]);

#endif
