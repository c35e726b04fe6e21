#!/bin/sh
# SPDX-License-Identifier: MIT
# Puts what a program for another machine is linked with below DIR: DIR/include/zookeeper and DIR/lib/libzookeeper_mt.a.
# arm64, s390x and i386: from Debian's packages, unpacked and not installed; the system's lists of packages stay as they
# are. musl: compiled with musl-gcc from Debian's source package. A library that is there already is kept.
# usage: tools/platforms.sh arm64|s390x|i386|musl DIR
set -eu

platform=$1
dir=$2
[ ! -e "$dir/lib/libzookeeper_mt.a" ] || exit 0
tools=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
work=$dir/work
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
echo "fetching libzookeeper for $platform (log: $dir/log)" >&2

foreign() {
    cd "$work"
    mkdir -p lists/partial cache/archives/partial
    : >status
    set -- -qq -o APT::Architecture="$platform" -o APT::Architectures="$platform" -o Dir::State::status="$work/status" \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root \
        -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20
    apt-get "$@" update || true # one source of several may fail
    apt-get "$@" download libzookeeper-mt-dev
    dpkg -x libzookeeper-mt-dev_*.deb unpacked
    mkdir -p "$dir/include" "$dir/lib"
    cp -r unpacked/usr/include/zookeeper "$dir/include/"
    cp unpacked/usr/lib/*/libzookeeper_mt.a "$dir/lib/"
}

# The package generates the protocol's records with Maven and its own Java class; the class alone does.
musl() {
    "$tools/source.sh" "$work"
    cd "$work/source/zookeeper-client/zookeeper-client-c"
    mkdir generated
    (cd generated && java -cp /usr/share/java/zookeeper-jute.jar org.apache.jute.compiler.generated.Rcc -l c \
        "$work/source/zookeeper-jute/src/main/resources/zookeeper.jute")
    autoreconf -if
    CC=musl-gcc CXX=no ./configure --without-openssl --without-cppunit --without-sasl --disable-shared --with-pic
    make -j"$(nproc)" AM_CFLAGS= CFLAGS='-g -O2' libzookeeper_mt.la
    mkdir -p "$dir/include/zookeeper" "$dir/lib"
    cp include/*.h generated/zookeeper.jute.h "$dir/include/zookeeper/"
    cp .libs/libzookeeper_mt.a "$dir/lib/"
}

case $platform in
musl) get=musl ;;
*) get=foreign ;;
esac
# not `if (set -e; "$get")`: that would switch its `set -e` off
set +e
(
    set -e
    "$get"
) >"$dir/log" 2>&1
# shellcheck disable=SC2181
if [ $? -ne 0 ] || [ ! -e "$dir/lib/libzookeeper_mt.a" ]; then
    tail -n 20 "$dir/log" >&2
    echo "no libzookeeper for $platform: $dir/log" >&2
    exit 1
fi
