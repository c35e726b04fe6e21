#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts zoo_lock.c and zoo_lock.h, ZooKeeper's own recipe, into DIR, from the distribution's source package.
# usage: bench/contest/source.sh DIR        status 3: it is not to be had here
set -u

tools=$(cd "$(dirname "$0")/../../tools" && pwd) || exit 1
dir=$1
if [ -e "$dir/zoo_lock.c" ]; then exit 0; fi
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
work=$dir/work
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

if ! "$tools/source.sh" "$work" >"$dir/log" 2>&1; then
    echo "no recipe of ZooKeeper's own: its source package is not to be had here ($dir/log)" >&2
    exit 3
fi
recipe=$work/source/zookeeper-recipes/zookeeper-recipes-lock/src/main/c
mv "$recipe/include/zoo_lock.h" "$recipe/src/zoo_lock.c" "$dir"
