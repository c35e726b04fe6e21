#!/bin/bash
# Tries every order of events of model/recipe.pml for a few callers and faults, and leaves each rule out once, which must
# be noticed. Ends with `N passed, N failed`.
# usage: model/run.sh BUILD       FULL=1: also the courses that take minutes
set -u

build=$1
jobs=$(nproc)
model=$(cd "$(dirname "$0")" && pwd)/recipe.pml

# CALLERS, of which the first SHARED are in one session, acquire ROUNDS times each; then how many faults there may be.
courses=(
    'CALLERS=2 SHARED=1 ROUNDS=2'
    'CALLERS=2 SHARED=1 ROUNDS=1 CUTS=2'
    'CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 CANCELS=1'
    'CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 OPERATORS=1'
    'CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 EXPIRIES=1'
    'CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1 CANCELS=1'
    'CALLERS=3 SHARED=1 ROUNDS=1'
    'CALLERS=3 SHARED=2 ROUNDS=1 CANCELS=1'
    'CALLERS=3 SHARED=3 ROUNDS=1 CUTS=1 CANCELS=1'
)
long_courses=(
    'CALLERS=2 SHARED=1 ROUNDS=2 CUTS=1 EXPIRIES=1'
    'CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 CANCELS=1 OPERATORS=1'
    'CALLERS=3 SHARED=2 ROUNDS=1 CUTS=1'
)

# NUMBER, the course that notices it, and what is done without the rule.
mutants=(
    '1|CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 OPERATORS=1|the first in the line holds without knowing that its own node is there'
    '2|CALLERS=2 SHARED=1 ROUNDS=1|a node that is gone can be watched, as by exists'
    '3|CALLERS=2 SHARED=1 ROUNDS=1|a node that is not there when it is to be watched counts for nothing'
    '4|CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|a list tells of a create whose answer was lost, with no write before it'
    '5|CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|the going of the blocker is the grant, whoever else stands before it'
    '6|CALLERS=2 SHARED=1 ROUNDS=1 CANCELS=1|a node whose create is answered after the wait was given up stays'
    '7|CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|a create whose answer was lost is repeated without a look'
    '10|CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|a delete that was cut off is not repeated'
    '11|CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 EXPIRIES=1|a holder believes in a session that the servers may have ended'
    '12|CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 EXPIRIES=1|who waits in a session that ends does not queue anew'
    '13|CALLERS=2 SHARED=1 ROUNDS=1 CUTS=1 OPERATORS=1|who holds is not told that his node is deleted'
    '15|CALLERS=2 SHARED=2 ROUNDS=2 CUTS=1|a node that we delete and that an older list shows again is not looked after'
)

# check SETTINGS -> the checker's report
check() {
    local folder settings
    folder=$(mktemp -d "$build/run.XXXXXX") # for the trail that it writes
    read -ra settings <<<"$1"
    (cd "$folder" && env "${settings[@]}" ../checker -m400000 -w24 2>&1)
    rm -rf "$folder"
}

# course SETTINGS
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

mkdir -p "$build" || exit 1
# The checker is in C, made by spin; both write a lot that nobody needs when they are content.
if ! output=$(cd "$build" && spin -a "$model" 2>&1 &&
    cc -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=4096 -o checker pan.c 2>&1); then
    printf '%s\n' "$output"
    exit 1
fi

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
