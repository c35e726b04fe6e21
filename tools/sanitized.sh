#!/bin/sh
# Runs a command whose processes, children included, write their sanitizer reports to PREFIX.PID; shows the reports
# afterwards. Fails if the command failed or a report was written.
# usage: tools/sanitized.sh PREFIX COMMAND...
set -u

prefix=$1
shift
rm -f "$prefix".*
"$@"
status=$?
for report in "$prefix".*; do
    if [ -e "$report" ]; then
        echo "== $report"
        cat "$report"
        status=1
    fi
done
exit "$status"
