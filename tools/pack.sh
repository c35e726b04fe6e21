#!/bin/sh
# SPDX-License-Identifier: MIT
# Packs a tag of this clone into OUT: the source tarball, the rockspec, the source rock, the binary rock of Lua 5.4 for
# this system, and their checksums. The same tag, with the same compiler, gives the same bytes: SOURCE_DATE_EPOCH, the
# time of all files, is that of the tag's commit.
# usage: tools/pack.sh VERSION OUT     OUT: an empty folder
set -u

version=$1
out=$(cd "$2" && pwd) || exit 1
tag=v$version
clone=$PWD
url=https://github.com/zklock/zklock.git # as the rockspec has it

# The source rock has what is built and documented. The tarball has everything, the tests as well.
KEPT='Makefile LICENSE *.md csrc lua share rockspec docs examples tools/make tools/tls.sh tools/tls.patch tools/source.sh
    bench/contest/contest.mk'

fail() {
    echo "tools/pack.sh: $*" >&2
    exit 1
}

say() { echo "== $*"; }

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$tag^{commit}") || fail "there is no tag $tag"
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
work=$(mktemp -d "${TMPDIR:-/tmp}/zklock-pack.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

say 'the source tarball'
git archive --format=tar --prefix="zklock-$version/" "$tag" >"$work/tar" ||
    fail 'git cannot make the tarball'
gzip -n9 <"$work/tar" >"$out/zklock-$version.tar.gz"
tar -tzf "$out/zklock-$version.tar.gz" "zklock-$version/rockspec/zklock-$version-1.rockspec" >/dev/null ||
    fail 'the source tarball lacks the rockspec of the release'
git show "$tag:rockspec/zklock-$version-1.rockspec" >"$out/zklock-$version-1.rockspec" || exit 1

# LuaRocks fetches the tag that the rockspec names, as it will from the public repository: git takes it from the clone.
mkdir "$work/server"
echo "rocks_servers = { '$work/server' } local_cache = '$work/cache'" >"$work/config.lua"
rocks() {
    LUAROCKS_CONFIG="$work/config.lua" GIT_CONFIG_COUNT=1 \
        GIT_CONFIG_KEY_0="url.file://$clone.insteadOf" GIT_CONFIG_VALUE_0="$url" \
        luarocks --lua-version=5.4 "$@" >"$work/log" 2>&1 </dev/null || {
        cat "$work/log" >&2
        fail "luarocks $1 fails"
    }
}

use() { # use TREE: the module of that tree is of this version
    said=$(cd "$work" && LUA_PATH="$1/share/lua/5.4/?.lua;$1/share/lua/5.4/?/init.lua" \
        LUA_CPATH="$1/lib/lua/5.4/?.so" lua5.4 -e 'print(require("zklock")._VERSION)') || fail "the rock cannot be loaded"
    [ "$said" = "zklock $version" ] || fail "the rock says that it is $said"
}

repack() { # repack ROCK [COMMAND]: LuaRocks writes the time and the order that it has met; COMMAND removes files first
    rm -rf "$work/rock"
    mkdir "$work/rock"
    (
        set -e
        unzip -q "$1" -d "$work/rock"
        rm "$1"
        cd "$work/rock"
        if [ $# -gt 1 ]; then ("$2"); fi
        find . -exec chmod u=rwX,go=rX {} + -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
        find . -type f | sed 's,^\./,,' | sort | zip -q -X -9 -@ "$out/$1"
    )
    # shellcheck disable=SC2181 # not `if (...)`: that would switch its `set -e` off
    [ $? -eq 0 ] || fail "$1 cannot be packed again"
}

# shellcheck disable=SC2317 # repack calls it
prune() {
    set -e
    cd zklock
    git init -q .
    # shellcheck disable=SC2086 # a list of patterns
    git add -f -- $KEPT
    git clean -q -f -d -x
    rm -rf .git
}

cd "$out" || exit 1
say 'the source rock'
rocks pack "zklock-$version-1.rockspec"
repack "zklock-$version-1.src.rock" prune
rocks install --tree="$work/from-source" "zklock-$version-1.src.rock"
use "$work/from-source"
say 'the binary rock'
rocks pack --tree="$work/from-source" zklock "$version-1"
binary=$(ls ./*.linux-*.rock) || fail 'luarocks has packed no binary rock'
repack "${binary#./}"
rocks install --tree="$work/from-binary" "$binary"
use "$work/from-binary"
sha256sum -- * >"$work/SHA256SUMS" || exit 1
mv "$work/SHA256SUMS" . || exit 1
