#!/bin/sh
# SPDX-License-Identifier: MIT
# Unpacks the distribution's source package of ZooKeeper as DIR/source. Nothing is installed, and the system's own lists
# of packages stay as they are.
# usage: tools/source.sh DIR        what goes wrong is said on stderr
set -eu

mkdir -p "$1"
cd "$1"
work=$PWD
mkdir -p sources lists/partial cache/archives/partial

# The system's package sources, asked for sources instead of binaries, in lists of our own.
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
    if [ -e "$file" ]; then
        sed -E -e 's/^([[:space:]]*)deb([[:space:]])/\1deb-src\2/' -e 's/^Types:.*/Types: deb-src/' \
            "$file" >"sources/$(basename "$file")"
    fi
done

apt() {
    apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources" \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" \
        -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@" </dev/null
}

apt update || true # one source of several may fail
apt source --download-only zookeeper
dpkg-source --no-check -x zookeeper_*.dsc source
