#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the function in which a fuzzed program has died, if fuzz/libzookeeper.known has it; else fails.
# usage: fuzz/known.sh LOG
#
# Two threads may die at the same time: then their stacks alternate line by line in the log, and only one of them is known.
# So each frame is put to the stack that waits for its number. A death counts as known if any of its stacks is: what else
# is new dies alone in another run.
set -u

log=$1

# For each stack of a death, not of where memory was allocated or leaked, either
#   the first function that is neither libc's nor the sanitizer's, unless it is ours (ours have a line), or
#   the function of ours that died of a pointer to nowhere, or to what was freed, if libzookeeper has called it with an
#   answer: a pointer of chance may lead to either.
dying_functions() {
    awk '
        /ERROR: AddressSanitizer:|ERROR: libFuzzer:|runtime error:/ { dying = 1 }
        /ERROR: AddressSanitizer: (SEGV on unknown address|heap-use-after-free)/ { wild = 1 }
        /LeakSanitizer|freed by thread|allocated by thread|is located|created by/ { dying = 0 }
        / #[0-9]+ 0x[0-9a-f]+ in / {
            if (/ in (clone|clone3|__clone|__clone3|_start) /) next
            match($0, /#[0-9]+/)
            number = substr($0, RSTART + 1, RLENGTH - 1) + 0
            if (number == 0) {
                stack = count++
                counts[stack] = dying
            } else {
                for (stack = 0; stack < count && expected[stack] != number; stack++);
                if (stack == count) next
            }
            expected[stack] = / in (start_thread|asan_thread_start|__libc_start_main|__libc_start_call_main)/ ? -1 : number + 1
            if (!counts[stack] || over[stack]) next
            ours = /\/(csrc|fuzz)\/[a-z_\/]*\.c:/
            if (!ours && !begun[stack]) {
                if (/ in (__interceptor_|__asan|__sanitizer|__ubsan|__lsan|fuzzer::)/) next
                if (/libc\.so|nptl\/|signal\/|stdlib\/|assert\//) next
                if (/ in (str|mem)[a-z]+ \(/) next # the sanitizer has one of its own, without a line
                print $4
                over[stack] = 1
            }
            begun[stack] = 1
            if (!name[stack] && /\/csrc\/[a-z_\/]*\.c:/) name[stack] = $4
            if (wild && name[stack] && / in deserialize_response/) {
                print name[stack]
                over[stack] = 1
            }
            if (expected[stack] < 0) over[stack] = 1
        }' "$log"
}

# The functions of libzookeeper whose assertions have failed. When another thread dies too, there may be no stack of them.
asserting_functions() {
    sed -n 's/.*zookeeper-client-c\/src\/[a-z_]*\.c:[0-9]*: \([A-Za-z0-9_]*\): Assertion .*/\1/p' "$log"
}

for name in $(dying_functions) $(asserting_functions); do
    if grep -q "^${name%%.*} " fuzz/libzookeeper.known; then
        echo "$name"
        exit 0
    fi
done
exit 1
