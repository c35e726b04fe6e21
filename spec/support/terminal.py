# SPDX-License-Identifier: MIT
"""Runs a program on a terminal of its own, as the leader of its session: terminal.py PROMPT PROGRAM ARG... What comes on standard input is typed; what
the terminal shows goes to standard output. Ends as the program ends: 128 and the number of a signal."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

ROWS, COLUMNS = 24, 100

program, terminal = pty.fork()
if program == 0:
    try:
        os.environ["PS1"] = sys.argv[1]  # a shell that starts us would take it for its own
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as why:
        print(why)
        os._exit(127)

fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
sources = [0, terminal]
while terminal in sources:
    for source in select.select(sources, [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:  # nobody has the terminal open any more
            data = b""
        if not data:
            sources.remove(source)
        os.write(terminal if source == 0 and data else 1, data)

status = os.waitpid(program, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
