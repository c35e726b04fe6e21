#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that a shared library has what Debian hardens its packages with: stack protectors, checked buffers
# (_FORTIFY_SOURCE), and tables of addresses that are read-only once it is loaded. Says what it lacks.
# usage: tools/hardened.sh FILE [SYMBOL...]       with symbols: it exports these and no others
set -u

file=$1
shift
wrong=0
lacks() {
    echo "$file $*"
    wrong=1
}

LC_ALL=C
export LC_ALL
symbols=$(readelf --dyn-syms --wide "$file") || exit 1
readelf --segments --wide "$file" | grep -q 'GNU_RELRO' || lacks 'lacks -Wl,-z,relro'
readelf --dynamic --wide "$file" | grep -Eq 'BIND_NOW|FLAGS.* NOW' || lacks 'lacks -Wl,-z,now'
printf '%s\n' "$symbols" | grep -q ' UND __stack_chk_fail' || lacks 'lacks -fstack-protector-strong'
printf '%s\n' "$symbols" | grep -Eq ' UND __[a-z]+_chk(@|$| )' || lacks 'lacks -D_FORTIFY_SOURCE=2'
if [ $# -gt 0 ]; then
    exported=$(printf '%s\n' "$symbols" | awk '$4 != "SECTION" && $5 != "LOCAL" && $7 != "UND" && $8 { print $8 }' |
        grep -v '^Name$' | sort | tr '\n' ' ')
    expected=$(printf '%s\n' "$@" | sort | tr '\n' ' ')
    [ "$exported" = "$expected" ] || lacks "exports $(echo "$exported" | wc -w) symbols ($(echo "$exported" |
        cut -c 1-200)), expected $expected"
fi
exit "$wrong"
