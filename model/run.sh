#!/bin/bash
# SPDX-License-Identifier: MIT
# Tries every order of events of model/recipe.pml, place.pml and readers.pml for a few callers and faults, and leaves each
# rule out once, which must be noticed. Ends with `N passed, N failed`.
# usage: model/run.sh BUILD       FULL=1: also the courses that take minutes
set -u

build=$1
jobs=$(nproc)
models=$(cd "$(dirname "$0")" && pwd)

# A model; CALLERS, of which the first SHARED are in one session, acquire ROUNDS times each; then how many faults there may
# be. In `place` those outside that session acquire once. In `readers` all CALLERS are in one session, the first WRITES, and
# time goes on for so many TICKS. With FIRST, so many sessions (in `readers`: all) acquire without a list where a node is the
# only one.
courses=(
    'recipe CALLERS=2 SHARED=1 ROUNDS=2'
    'recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=2'
    'recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 CANCELS=1'
    'recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 OPERATORS=1'
    'recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 EXPIRIES=1'
    'recipe CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1 CANCELS=1'
    'recipe CALLERS=3 SHARED=1 ROUNDS=1'
    'recipe CALLERS=3 SHARED=2 ROUNDS=1 CANCELS=1'
    'recipe CALLERS=3 SHARED=3 ROUNDS=1 CUTS=1 CANCELS=1'
    'recipe CALLERS=2 SHARED=1 ROUNDS=2 FIRST=2'
    'recipe CALLERS=2 SHARED=1 ROUNDS=2 FIRST=1'
    'recipe CALLERS=2 SHARED=1 ROUNDS=2 FIRST=2 END=2'
    'recipe CALLERS=2 SHARED=1 ROUNDS=1 FIRST=2 ACLS=1 OPERATORS=1'
    'recipe CALLERS=2 SHARED=2 ROUNDS=2 FIRST=1 CUTS=1'
    'recipe CALLERS=3 SHARED=2 ROUNDS=1 FIRST=2'
    'place CALLERS=2 SHARED=1 ROUNDS=1 LINGER=1 CUTS=1'
    'place CALLERS=2 SHARED=1 ROUNDS=1 LINGER=1 RELINKS=1'
    'place CALLERS=2 SHARED=1 ROUNDS=2 LINGER=1 STINTS=1'
    'place CALLERS=2 SHARED=1 ROUNDS=1 LINGER=1 OPERATORS=1'
    'place CALLERS=2 SHARED=2 ROUNDS=2 LINGER=1 CUTS=1 ABANDONS=1 CANCELS=1 AGAIN=1'
    'place CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 EXPIRIES=1'
    'place CALLERS=3 SHARED=2 ROUNDS=1 STINTS=1'
    'place CALLERS=2 SHARED=1 ROUNDS=2 LINGER=1 FIRST=2'
    'readers CALLERS=2 ELSEWHERE=1 ROUNDS=1 TICKS=2'
    'readers CALLERS=2 ELSEWHERE=1 ROUNDS=2'
    'readers CALLERS=2 WRITES=1 ELSEWHERE=1 ROUNDS=1'
    'readers CALLERS=1 WRITES=1 ELSEWHERE=1 OPERATORS=1'
    'readers CALLERS=2 WRITES=1 ROUNDS=1 ABANDONS=1 CANCELS=1'
    'readers CALLERS=2 WRITES=1 ROUNDS=1 ABANDONS=1 CANCELS=1 FIRST=1'
    'readers CALLERS=1 WRITES=1 ELSEWHERE=1 OPERATORS=1 FIRST=1'
)
long_courses=(
    'recipe CALLERS=2 SHARED=1 ROUNDS=2 CUTS=1 EXPIRIES=1'
    'recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 CANCELS=1 OPERATORS=1'
    'recipe CALLERS=3 SHARED=2 ROUNDS=1 CUTS=1'
    'recipe CALLERS=2 SHARED=1 ROUNDS=1 FIRST=2 CUTS=1 OPERATORS=1'
    'recipe CALLERS=2 SHARED=1 ROUNDS=1 FIRST=2 ACLS=1 CUTS=1 EXPIRIES=1'
    'recipe CALLERS=3 SHARED=2 ROUNDS=1 FIRST=2 CANCELS=1'
    'place CALLERS=2 SHARED=1 ROUNDS=2 LINGER=1 RELINKS=1 STINTS=1'
    'place CALLERS=2 SHARED=1 ROUNDS=1 LINGER=1 CUTS=1 EXPIRIES=1'
    'place CALLERS=3 SHARED=2 ROUNDS=2 LINGER=1'
    'place CALLERS=2 SHARED=1 ROUNDS=2 LINGER=1 OPERATORS=1'
    'place CALLERS=2 SHARED=1 ROUNDS=1 LINGER=1 CUTS=1 FIRST=2'
    'place CALLERS=3 SHARED=2 ROUNDS=1 FIRST=2'
    'readers CALLERS=2 ELSEWHERE=1 ROUNDS=2 TICKS=3'
    'readers CALLERS=2 WRITES=1 ELSEWHERE=1 ROUNDS=1 TICKS=2'
    'readers CALLERS=2 WRITES=1 ELSEWHERE=1 ROUNDS=1 OPERATORS=1 CANCELS=1'
    'readers CALLERS=2 ELSEWHERE=1 ROUNDS=1 TICKS=2 FIRST=1'
    'readers CALLERS=2 WRITES=1 ELSEWHERE=1 ROUNDS=1 FIRST=1'
)

# NUMBER, the course that notices it, and what is done without the rule.
mutants=(
    '1|recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 OPERATORS=1|the first in the line holds without knowing that its own node is there'
    '2|recipe CALLERS=2 SHARED=1 ROUNDS=1|a node that is gone can be watched, as by exists'
    '3|recipe CALLERS=2 SHARED=1 ROUNDS=1|a node that is not there when it is to be watched counts for nothing'
    '4|recipe CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|a list tells of a create whose answer was lost, with no write before it'
    '5|recipe CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|the going of the blocker is the grant, whoever else stands before it'
    '6|recipe CALLERS=2 SHARED=1 ROUNDS=1 CANCELS=1|a node whose create is answered after the wait was given up stays'
    '7|recipe CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|a create whose answer was lost is repeated without a look'
    '10|recipe CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|a delete that was cut off is not repeated'
    '11|recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 EXPIRIES=1|a holder believes in a session that the servers may have ended'
    '12|recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 EXPIRIES=1|who waits in a session that ends does not queue anew'
    '13|recipe CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 OPERATORS=1|who holds is not told that his node is deleted'
    '15|recipe CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|a node that we delete and that an older list shows again is not looked after'
    '4|recipe CALLERS=2 SHARED=2 ROUNDS=2 FIRST=1 CUTS=1|a list with no write before it tells of a create that could have granted'
    '7|recipe CALLERS=2 SHARED=2 ROUNDS=2 FIRST=1 CUTS=1|a create that tells is repeated without a look, if its answer was lost'
    '18|recipe CALLERS=2 SHARED=1 ROUNDS=1 FIRST=2|the answer to a create grants whoever else is there'
    '19|recipe CALLERS=2 SHARED=1 ROUNDS=1 FIRST=2|no list follows when a create has told of others'
    '20|recipe CALLERS=2 SHARED=1 ROUNDS=1 FIRST=2|the directory is counted before the create'
    '21|recipe CALLERS=2 SHARED=2 ROUNDS=1 FIRST=1|two creates of a line are in one transaction'
    '22|recipe CALLERS=2 SHARED=1 ROUNDS=1 FIRST=2 ACLS=1 OPERATORS=1|what a create told still grants when the ACL has come'
    '23|recipe CALLERS=2 SHARED=1 ROUNDS=2 FIRST=2 END=2|a number at the end of the counter counts'
    '1|place CALLERS=2 SHARED=1 ROUNDS=2 LINGER=1 OPERATORS=1|granted on a place whose own node is not watched'
    '2|place CALLERS=2 SHARED=1 ROUNDS=1 LINGER=1 RELINKS=1|after a reconnect a place reads with no write before it'
    '3|place CALLERS=3 SHARED=2 ROUNDS=2 LINGER=1 STINTS=1|a stint counts from the list on, not from when its watch has told'
    '4|place CALLERS=3 SHARED=2 ROUNDS=1 STINTS=1|a place goes on however long somebody has stood behind it'
    '5|place CALLERS=2 SHARED=2 ROUNDS=2 LINGER=1 AGAIN=1|a release of a former turn hands on'
    '6|place CALLERS=2 SHARED=1 ROUNDS=2 LINGER=1|the end of lingering counts when the place is in use again'
    '7|place CALLERS=2 SHARED=2 ROUNDS=1 LINGER=1 ABANDONS=1|what ends without a release does not end its place'
    '8|place CALLERS=2 SHARED=1 ROUNDS=1 LINGER=1|a place lingers with somebody behind it'
    '9|place CALLERS=2 SHARED=2 ROUNDS=1 LINGER=1 ABANDONS=1|a sealed place takes new callers'
    '1|place CALLERS=2 SHARED=1 ROUNDS=2 LINGER=1 OPERATORS=1 FIRST=2|granted once more without a watch, as its create had told of nobody'
    '10|place CALLERS=3 SHARED=2 ROUNDS=2 FIRST=2 STINTS=1|hands on by what the create told'
    '10|place CALLERS=2 SHARED=1 ROUNDS=2 LINGER=1 FIRST=2|lingers by what the create told'
    '1|readers CALLERS=2 ELSEWHERE=1 ROUNDS=1|the first reader who leaves takes the node with him'
    '2|readers CALLERS=2 ELSEWHERE=1 ROUNDS=2 TICKS=3|readers get in however long a writer has stood behind them'
    '3|readers CALLERS=2 ELSEWHERE=1 ROUNDS=2 TICKS=2|readers get in on a list that is a stint old'
    '4|readers CALLERS=2 ELSEWHERE=1 ROUNDS=2 TICKS=3|a stint counts from the list that shows a writer'
    '5|readers CALLERS=1 WRITES=1 ELSEWHERE=1 OPERATORS=1|a read under a write counts before both were seen together'
    '6|readers CALLERS=2 WRITES=1 ROUNDS=1 ABANDONS=1|others read on the node of a write that has not ended well'
    '7|readers CALLERS=1 WRITES=1 ELSEWHERE=1|a writer holds when the writer before it goes, with no list'
    '8|readers CALLERS=2 ELSEWHERE=1 ROUNDS=2 TICKS=3|a list is as new as its answer'
    '9|readers CALLERS=2 WRITES=1 ROUNDS=1|others read under a write that is held'
    '10|readers CALLERS=1 WRITES=1 ELSEWHERE=1 OPERATORS=1 FIRST=1|a read under a write counts if it is alone'
)

# check MODEL SETTINGS -> the checker's report
check() {
    local folder model settings
    folder=$(mktemp -d "$build/run.XXXXXX") # for the trail that it writes
    read -r model settings <<<"$1"
    read -ra settings <<<"$settings"
    (cd "$folder" && env "${settings[@]}" "../$model/checker" -m400000 -w24 2>&1)
    rm -rf "$folder"
}

# course MODEL SETTINGS
course() {
    local report
    report=$(check "$1")
    if grep -q 'errors: 0' <<<"$report" && ! grep -q 'max search depth too small' <<<"$report"; then
        echo "ok      $1: every order of events, $(awk '/states, stored/ { print $1; exit }' <<<"$report") states"
    else
        echo "FAILED  $1: $(grep -m 1 '^pan:' <<<"$report")"
    fi
}

# mutant NUMBER COURSE WHAT
mutant() {
    if grep -q 'errors: 1' <<<"$(check "$2 MUTANT=$1")"; then
        echo "ok      noticed: $3"
    else
        echo "FAILED  not noticed: $3"
    fi
}

# The checker of a model is in C, made by spin; both write a lot that nobody needs when they are content.
for model in recipe place readers; do
    mkdir -p "$build/$model" || exit 1
    if ! output=$(cd "$build/$model" && spin -a "$models/$model.pml" 2>&1 &&
        cc -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=4096 -o checker pan.c 2>&1); then
        printf '%s\n' "$output"
        exit 1
    fi
done

[ -z "${FULL:-}" ] || courses+=("${long_courses[@]}")

# When one of those that run has ended, if all processors are busy.
a_processor_is_free() {
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
}

run_all() {
    local line number settings what
    for line in "${courses[@]}"; do
        a_processor_is_free
        course "$line" &
    done
    for line in "${mutants[@]}"; do
        IFS='|' read -r number settings what <<<"$line"
        a_processor_is_free
        mutant "$number" "$settings" "$what" &
    done
    wait
}
run_all | tee "$build/results"
passed=$(grep -c '^ok ' "$build/results")
failed=$((${#courses[@]} + ${#mutants[@]} - passed)) # what ended without a word has failed, too
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
