#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a command whose processes, children included, write their sanitizer reports to PREFIX.PID; shows the reports
# afterwards. Fails if the command failed or a report was written.
#
# LeakSanitizer itself crashes now and then when a thread ends while it looks ("Tracer caught signal 11"): those processes
# were not looked at for leaks, which is counted and is no finding.
# usage: tools/sanitized.sh PREFIX COMMAND...
set -u

prefix=$1
shift
rm -f "$prefix".*
"$@"
status=$?
unseen=0
for report in "$prefix".*; do
    if [ ! -e "$report" ]; then
        continue
    elif grep -q '^Tracer caught signal' "$report" &&
        ! grep -qE 'ERROR: |WARNING: |runtime error' "$report"; then
        unseen=$((unseen + 1))
    else
        echo "== $report"
        cat "$report"
        status=1
    fi
done
[ "$unseen" -eq 0 ] || echo "LeakSanitizer crashed at the end of $unseen processes: their leaks are not known"
exit "$status"
