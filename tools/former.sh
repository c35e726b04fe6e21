#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the C module of a former version of zklock for Lua 5.4, and prints the folder with that version's tree: the
# specs run its client beside the present one. The version is that of the latest release tag below the present commit;
# before the first release it is a commit that already has every kind of lock.
# usage: tools/former.sh DIR        status 3 and one line on stderr: there is no history here
set -u

FIRST=a2c15849691b3634fe15a5a4023e08586534ea57

none() {
    echo "skipped: $*" >&2
    exit 3
}

dir=$1
[ "$(git rev-parse --show-prefix 2>/dev/null || echo no)" = '' ] || none 'git finds no repository of zklock here'
version=$(git tag --list 'v[0-9]*' --merged HEAD --no-contains HEAD --sort=-v:refname | head -n 1)
[ -n "$version" ] || version=$FIRST
commit=$(git rev-parse -q --verify "$version^{commit}") ||
    none "the clone is shallow: it has no commit $version"

mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
tree=$dir/$commit
if [ ! -e "$tree" ]; then
    work=$(mktemp -d "$dir/XXXXXX") || exit 1
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    git archive "$commit" >"$work.tar" && tar -C "$work" -xf "$work.tar" || exit 1
    rm -f "$work.tar"
    (cd "$work" && env -u MAKEFLAGS -u MAKELEVEL make -s -j"$(nproc)" LUAS=5.4 CFLAGS=-O1 \
        build/5.4/zklock/core.so) >"$dir/log" 2>&1 || {
        cat "$dir/log" >&2
        exit 1
    }
    mv -T "$work" "$tree" 2>/dev/null || [ -e "$tree" ] || exit 1
fi
echo "$tree"
