#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a command until it has passed RUNS times in a row, beside LOAD busy loops. The first failure ends it.
# usage: tools/steady.sh RUNS LOAD FILE COMMAND...
# Each run appends a line to FILE: commit, load, seconds, result, the last line that the command wrote. Another call with
# the same FILE and command goes on: the runs of this commit beside this load count that passed after the last failure.
# The name of a tree with uncommitted changes ends in "+": its former runs do not count.
# FILE.log has all that the last run wrote.
set -u

fail() {
    echo "tools/steady.sh: $*" >&2
    exit 2
}

[ $# -ge 4 ] || fail 'RUNS LOAD FILE COMMAND... expected'
runs=$1 load=$2 file=$3
shift 3
case $runs in '' | *[!0-9]* | 0*) fail "RUNS >= 1 expected, got '$runs'" ;; esac
case $load in '' | *[!0-9]* | 0?*) fail "LOAD >= 0 expected, got '$load'" ;; esac

tree() { # the commit, with "+" behind it if something is not committed
    name=$(git rev-parse --short=12 HEAD) || fail 'this is no repository'
    changes=$(git status --porcelain) || fail 'this is no repository'
    echo "$name${changes:++}"
}

child=
# shellcheck disable=SC2317 # the trap calls it
clean() {
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null
        wait "$child" 2>/dev/null
    fi
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

commit=$(tree) || exit
touch "$file" || exit 2
passed=$(awk -v commit="$commit" -v load="$load" \
    '$1 == commit && $2 == load && commit !~ /\+$/ { n = $4 == "passed" ? n + 1 : 0 } END { print n + 0 }' "$file")
[ "$passed" -eq 0 ] || echo "$passed of $runs runs of $commit beside $load busy loops have passed before"

# The kernel ends the loops when this shell ends, in whatever way.
n=0
while [ "$n" -lt "$load" ]; do
    setpriv --pdeathsig KILL sh -c 'while :; do :; done' >/dev/null 2>&1 &
    n=$((n + 1))
done

while [ "$passed" -lt "$runs" ]; do
    began=$(date +%s)
    "$@" >"$file.log" 2>&1 </dev/null &
    child=$!
    wait "$child"
    status=$?
    child=
    [ "$(tree)" = "$commit" ] || fail "the tree has changed: it is $(tree), not $commit"
    result=passed
    [ "$status" -eq 0 ] || result=failed
    line="$commit $load $(($(date +%s) - began)) $result $(tail -n 1 "$file.log")"
    echo "$line" >>"$file"
    echo "$line"
    if [ "$status" -ne 0 ]; then
        grep -E '^\[  (FAILED|ERROR ) +\] .* @ |^FAILED  |^---- ' "$file.log" | grep -v ' ms)$'
        fail "run $((passed + 1)) failed with status $status: $file.log"
    fi
    passed=$((passed + 1))
done
echo "$passed passed, 0 failed"
