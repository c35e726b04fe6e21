#!/bin/sh
# SPDX-License-Identifier: MIT
# Every static check, each counted: ends with `N passed, N failed`. A check that cannot run here prints one line,
# `skipped: REASON`, and counts as neither.
set -u

passed=0
failed=0
step() { # step NAME COMMAND...
    name=$1
    shift
    if ! output=$("$@" 2>&1 </dev/null); then
        printf '%s\n' "$output"
        echo "FAILED  $name"
        failed=$((failed + 1))
        return
    fi
    case $output in
    'skipped: '*) echo "skipped $name: ${output#skipped: }" ;;
    *)
        echo "ok      $name"
        passed=$((passed + 1))
        ;;
    esac
}

c_files() { # c_files PATTERN DIR...
    pattern=$1
    shift
    for dir; do
        if [ -d "$dir" ]; then find "$dir" -name "$pattern" -print0; fi
    done
}

formatted() {
    c_files '*.[ch]' csrc spec bench fuzz examples | xargs -0 -r clang-format --dry-run --Werror
}

# clang-format leaves comments alone, and breaks declarations because of those that are too long.
narrow() {
    wide=$(c_files '*.[ch]' csrc spec examples | xargs -0 -r awk 'length > 100 { print FILENAME ":" FNR ": past column 100" }')
    printf '%s' "$wide"
    [ -z "$wide" ]
}

tidy() {
    # shellcheck disable=SC2046 # pkg-config's answer is a list of words
    set -- -std=c11 -D_GNU_SOURCE -DTHREADED -Icsrc $(pkg-config --cflags lua5.4)
    found=$(c_files '*.c' csrc | xargs -0 -r -P "$(nproc)" -I FILE clang-tidy --quiet FILE -- "$@" 2>&1)
    status=$?
    printf '%s\n' "$found" | grep -v 'warnings\{0,1\} generated\.$' # those that are in others' headers
    return "$status"
}

luacheck_all() {
    set -- tools
    for dir in lua spec examples bench chaos fuzz; do
        if [ -d "$dir" ]; then set -- "$@" "$dir"; fi
    done
    luacheck --quiet --codes "$@"
}

# Those of tools run under 5.4 alone (tools/make/suites.mk).
for_each_lua() { # for_each_lua COMMAND...
    find lua spec -name '*.lua' ! -path 'spec/harness/*' -print0 | xargs -0 "$@"
}

prose() {
    find . -name '*.md' ! -path './build/*' ! -path './.git/*' -printf '%P\0' | xargs -0 lua5.4 tools/prose.lua
}

sentences() {
    git ls-files -z '*.c' '*.h' '*.lua' '*.md' '*.sh' '*.mk' Makefile | xargs -0 lua5.4 tools/sentences.lua
}

# npm is no package that deps.sh installs: Debian's brings hundreds of others.
workflows() {
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
        echo 'skipped: npm is not here'
        return
    fi
    node tools/workflows.js
}

step 'clang-format' formatted
step 'no line of C past column 100' narrow
step 'clang-tidy' tidy
step 'arrows of the C sources point one way' lua5.4 tools/arrows.lua csrc
step 'each mutant that needs no test is there' lua5.4 tools/mutants/stale.lua
step 'luacheck' luacheck_all
step 'lua and spec parse in Lua 5.1' for_each_lua luac5.1 -p --
step 'lua and spec parse in LuaJIT' for_each_lua -I FILE luajit -b FILE /dev/null
step 'shellcheck' shellcheck tools/*.sh bench/contest/*.sh model/*.sh fuzz/*.sh share/zklock.bash .ci/run
step 'actionlint' workflows
step 'specs start no program that tools/deps.sh does not install' lua5.4 tools/programs.lua
step 'specs set no time limits, and sleep for no event' lua5.4 tools/timing.lua
step 'mandoc' mandoc -T lint share/zklock.1 share/zklock.3
step 'programs in C that a release has let be built still run' lua5.4 tools/abi.lua
step 'zklock(3) says what the header says' lua5.4 tools/manual.lua
for rockspec in rockspec/*.rockspec; do
    step "luarocks lint $rockspec" luarocks lint "$rockspec"
done
step 'Lua modules know what is below them, and write their own fields' lua5.4 tools/rooms.lua lua
step 'no owner is compared by its __eq' lua5.4 tools/owners.lua lua
step 'Markdown has lines of 100 columns and cells of 160' prose
step 'a sentence names its subject, and begins with no Who or What' sentences
step 'one version everywhere' lua5.4 tools/version.lua
step 'the rockspecs are in step with the tree' lua5.4 tools/rockspec.lua
step 'each source file names its licence' lua5.4 tools/licence.lua
step 'each commit message has an area, and says why' lua5.4 tools/commits.lua

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
