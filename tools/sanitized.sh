#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a command whose processes, children included, write their sanitizer reports to a folder of this run alone; shows
# the reports afterwards, also when a signal has ended the command. Fails if the command failed or a report was written.
#
# LeakSanitizer itself crashes now and then when a thread ends while it looks ("Tracer caught signal 11"): those processes
# were not looked at for leaks, which is counted and is no finding.
# usage: tools/sanitized.sh COMMAND...
set -u

reports=$(mktemp -d) || exit 1
trap 'rm -rf "$reports"' EXIT
trap : HUP INT TERM
chmod 1777 "$reports" # some processes are another user's
for options in ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS; do
    # Those that are set say which sanitizer it is.
    eval "[ -z \"\${$options+set}\" ] || export $options=\"\$$options:log_path=\$reports/report\""
done
"$@"
status=$?
unseen=0
for report in "$reports"/*; do
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
