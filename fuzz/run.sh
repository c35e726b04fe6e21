#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes every target of fuzz/ with libFuzzer, AddressSanitizer and UBSan, on all processors; what is found new stays in
# BUILD/corpus. A failing input is printed with its path. Ends with `N passed, N failed`.
# usage: fuzz/run.sh BUILD MINUTES [TARGET...]     MINUTES for each target, such as 10 or 0.5
set -u

build=$1
seconds=$(awk -v minutes="$2" 'BEGIN { printf "%d", minutes * 60 }')
shift 2
targets=("$@")
[ $# -gt 0 ] || targets=(names servers texts directory stream arguments)
cc=${CLANG:-clang}

# How long an input may be. A target that is quick with short ones finds more in a minute.
declare -A longest=([names]=300 [servers]=200 [stream]=600 [arguments]=300)
export LSAN_OPTIONS=suppressions=fuzz/libzookeeper.leaks:print_suppressions=0
# A large quarantine costs the caches; a reply may ask libzookeeper for more memory than there is.
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=8:allocator_may_return_null=1}

# shellcheck disable=SC2054 # the commas are clang's
flags=(-g -O2 -std=c11 -D_GNU_SOURCE -DTHREADED -DZKL_CHECK -Icsrc -Ispec/unit -Ispec/unit/fake -Ifuzz
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)

# Distributions name it differently.
for name in lua5.4 lua-5.4 lua54; do
    if pkg-config --exists "$name"; then break; fi
done
read -ra lua < <(pkg-config --cflags "$name")
read -ra lua_libs < <(pkg-config --libs "$name")
flags+=("${lua[@]}")

mkdir -p "$build/objects" || exit 1

# Of the unit tests' fakes: not their ways to end and to draw lots, and no links in the place of the engine's.
sources() {
    find csrc -name '*.c'
    find spec/unit -name '*.c' ! -name '*_test.c' ! -name 'check.c' ! -name 'random_*' ! -name 'session_world*' \
        ! -name 'memory_world.c'
    echo fuzz/input.c
    echo fuzz/failure.c
}

object_of() { printf '%s/objects/%s.o' "$build" "${1//\//_}"; }

compile() { # compile SOURCE
    local object
    object=$(object_of "$1")
    "$cc" "${flags[@]}" -c -o "$object" "$1" || echo "$1" >>"$build/broken"
}

rm -f "$build/broken" "$build/engine.a"
echo "compiling in $build"
mapfile -t all < <(sources)
for source in "${all[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    compile "$source" &
done
wait
if [ -e "$build/broken" ]; then
    exit 1
fi

invariants=("$(object_of spec/unit/invariants_line.c)" "$(object_of spec/unit/invariants_sums.c)")
fakes=()
engine=()
binding=()
for source in "${all[@]}"; do
    case $source in
    csrc/lua/*) binding+=("$(object_of "$source")") ;;
    csrc/*) engine+=("$(object_of "$source")") ;;
    *) fakes+=("$(object_of "$source")") ;;
    esac
done
ar rcs "$build/engine.a" "${engine[@]}" || exit 1 # so that a fake wins over the engine's own

# The library itself is in `stream`, as an archive: so a stack has the names of its functions.
link() { # link TARGET
    case $1 in
    stream)
        "$cc" "${flags[@]}" -fsanitize=fuzzer -o "$build/$1" "fuzz/$1.c" "$(object_of fuzz/input.c)" \
            "$(object_of fuzz/failure.c)" "${invariants[@]}" "$build/engine.a" \
            -l:libzookeeper_mt.a -lm -pthread
        ;;
    arguments)
        "$cc" "${flags[@]}" -fsanitize=fuzzer -o "$build/$1" "fuzz/$1.c" "$(object_of fuzz/input.c)" \
            "$(object_of fuzz/failure.c)" "${invariants[@]}" "${binding[@]}" "$build/engine.a" \
            -lzookeeper_mt "${lua_libs[@]}" -lm -ldl -pthread
        ;;
    *)
        "$cc" "${flags[@]}" -fsanitize=fuzzer -o "$build/$1" "fuzz/$1.c" "${fakes[@]}" "$build/engine.a" \
            -lzookeeper_mt -pthread
        ;;
    esac
}

# Runs a target, again when libzookeeper has died in a known way. Its inputs then are not kept.
run() { # run TARGET SECONDS OPTION...
    local target=$1 end=$((SECONDS + $2)) log="$build/$1.log" asan=$ASAN_OPTIONS death
    # Its client lives on at the end, with what libzookeeper has in its hands just then.
    [ "$target" != arguments ] || asan+=:detect_leaks=0
    shift 2
    : >"$log"
    while :; do
        if ASAN_OPTIONS=$asan "$build/$target" -max_total_time=$((end > SECONDS ? end - SECONDS : 1)) "$@" >"$log.last" 2>&1; then
            cat "$log.last" >>"$log"
            return 0
        fi
        cat "$log.last" >>"$log"
        death=$(fuzz/known.sh "$log.last") || return 1
        echo "known of libzookeeper: $death" >>"$log"
        [ $SECONDS -lt $end ] || return 0
    done
}

fuzz() { # fuzz TARGET
    local target=$1 new="$build/corpus/$1" options=()
    mkdir -p "$new"
    case $target in stream | arguments) options+=(-len_control=0) ;; esac # a few bytes say little
    if [ -e "fuzz/$target.dict" ]; then options+=("-dict=fuzz/$target.dict"); fi
    link "$target" || return 1
    run "$target" "$seconds" -max_len="${longest[$target]:-1500}" -rss_limit_mb=3000 -print_final_stats=1 \
        -artifact_prefix="$build/$target-" "${options[@]}" "$new" "fuzz/corpus/$target"
}

runs_of() { # runs_of TARGET
    sed -n 's/^stat::number_of_executed_units: *//p' "$build/$1.log" | awk '{ n += $1 } END { print n + 0 }'
}

one() { # one TARGET
    local deaths
    if fuzz "$1"; then
        deaths=$(grep -c '^known of libzookeeper' "$build/$1.log")
        echo "ok      $1: $(runs_of "$1") runs; libzookeeper died $deaths times in ways that are known of it"
    else
        tail -n 40 "$build/$1.log"
        echo "FAILED  $1 (log: $build/$1.log)"
    fi
}

for target in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    one "$target" &
done | tee "$build/results"
passed=$(grep -c '^ok ' "$build/results")
failed=$((${#targets[@]} - passed))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
