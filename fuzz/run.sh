#!/bin/bash
# Fuzzes every target of fuzz/ with libFuzzer, AddressSanitizer and UBSan, on all processors; what is found new stays in
# BUILD/corpus. A failing input is printed with its path. Ends with `N passed, N failed`.
# usage: fuzz/run.sh BUILD MINUTES [TARGET...]
set -u

build=$1
minutes=$2
shift 2
targets=("$@")
[ $# -gt 0 ] || targets=(names servers directory)
cc=${CLANG:-clang}

# How long an input may be. What is quick with short ones finds more in a minute.
declare -A longest=([names]=300 [servers]=200)
export ASAN_OPTIONS=${ASAN_OPTIONS:-quarantine_size_mb=8} # a large one costs the caches

# shellcheck disable=SC2054 # the commas are clang's
flags=(-g -O2 -std=c11 -D_GNU_SOURCE -DTHREADED -DZKL_CHECK -Icsrc -Ispec/unit -Ifuzz
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)

mkdir -p "$build/objects" || exit 1

# Of the unit tests' fakes: not their ways to end and to draw lots.
sources() {
    find csrc -name '*.c' ! -path 'csrc/lua/*'
    find spec/unit -name '*.c' ! -name '*_test.c' ! -name 'check.c' ! -name 'random_*'
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

fakes=()
engine=()
for source in "${all[@]}"; do
    case $source in
    csrc/queue/check.c) fakes+=("$(object_of "$source")") ;;
    csrc/*) engine+=("$(object_of "$source")") ;;
    *) fakes+=("$(object_of "$source")") ;;
    esac
done
ar rcs "$build/engine.a" "${engine[@]}" || exit 1 # so that a fake wins over the engine's own

fuzz() { # fuzz TARGET
    local target=$1 new="$build/corpus/$1" options=()
    mkdir -p "$new"
    if [ -e "fuzz/$target.dict" ]; then options+=("-dict=fuzz/$target.dict"); fi
    "$cc" "${flags[@]}" -fsanitize=fuzzer -o "$build/$target" "fuzz/$target.c" "${fakes[@]}" "$build/engine.a" \
        -lzookeeper_mt -pthread || return 1
    "$build/$target" -max_total_time=$((minutes * 60)) -max_len="${longest[$target]:-1500}" -rss_limit_mb=3000 \
        -print_final_stats=1 -artifact_prefix="$build/$target-" "${options[@]}" "$new" "fuzz/corpus/$target" >"$build/$target.log" 2>&1
}

one() { # one TARGET
    if fuzz "$1"; then
        echo "ok      $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$1.log") runs"
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
