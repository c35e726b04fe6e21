#!/bin/sh
# Puts zoo_lock.c and zoo_lock.h, ZooKeeper's own recipe, into DIR, from the distribution's source package.
# usage: bench/contest/source.sh DIR        status 3: it is not to be had here
set -u

dir=$1
if [ -e "$dir/zoo_lock.c" ]; then exit 0; fi
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
work=$dir/work
rm -rf "$work"
mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial" || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# The system's package sources, asked for sources instead of binaries, in lists of our own.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    if [ -e "$file" ]; then
        sed -E -e 's/^([[:space:]]*)deb([[:space:]])/\1deb-src\2/' -e 's/^Types:.*/Types: deb-src/' \
            "$file" >"$work/sources/$(basename "$file")"
    fi
done

apt() {
    apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources" \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
        -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@" </dev/null
}

get() {
    cd "$work" || return
    apt update # one source of several may fail
    apt source --download-only zookeeper && dpkg-source --no-check -x zookeeper_*.dsc source
}

if ! get >"$dir/log" 2>&1; then
    echo "no recipe of ZooKeeper's own: its source package is not to be had here ($dir/log)" >&2
    exit 3
fi
recipe=$work/source/zookeeper-recipes/zookeeper-recipes-lock/src/main/c
mv "$recipe/include/zoo_lock.h" "$recipe/src/zoo_lock.c" "$dir"
