#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the C unit tests in a folder and ends with their sum: `N passed, N failed`.
# usage: tools/unit.sh DIR [COMMAND...]     COMMAND runs each of them: qemu-s390x -L /usr/s390x-linux-gnu
# LEAVE_OUT="socket_test ...": not those.
# A program that dies without its count, or fails without saying so, is one failure.
set -u

dir=$1
shift
total_passed=0
total_failed=0
for program in "$dir"/*_test; do
    if [ ! -x "$program" ]; then continue; fi
    case " ${LEAVE_OUT:-} " in
    *" ${program##*/} "*)
        echo "== ${program##*/}: left out"
        continue
        ;;
    esac
    echo "== ${program##*/}"
    output=$("$@" "$program" 2>&1 </dev/null)
    status=$?
    printf '%s\n' "$output"
    last=$(printf '%s\n' "$output" | tail -n 1)
    counts=$(printf '%s\n' "$last" | sed -n 's/^\([0-9]\{1,\}\) passed, \([0-9]\{1,\}\) failed$/\1 \2/p')
    passed=${counts%% *}
    failed=${counts##* }
    if [ -z "$counts" ] || { [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; }; then
        echo "${program##*/} ended with status $status${counts:+ after its count}"
        failed=$((${failed:-0} + 1))
    fi
    total_passed=$((total_passed + ${passed:-0}))
    total_failed=$((total_failed + failed))
done
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
