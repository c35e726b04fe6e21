#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds a libzookeeper_mt with TLS from the distribution's own source package, of which the distribution's binary is
# built without, and with tls.patch, which says who is trusted. Nothing is installed: the library stays in DIR, for
# LD_LIBRARY_PATH, and as an archive for `ZOOKEEPER=static`. An earlier build is kept. It is hardened as
# Debian's own packages are.
# usage: tools/tls.sh DIR        status 3: the source package is not to be had here
set -u

dir=$1
tools=$(cd "$(dirname "$0")" && pwd) || exit 1
patch=$tools/tls.patch
recipe() { cat "$tools/tls.sh" "$patch"; }
[ -e "$dir/libzookeeper_mt.so.2" ] && [ -e "$dir/libzookeeper_mt.a" ] && recipe | cmp -s - "$dir/recipe" && exit 0
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
rm -f "$dir/libzookeeper_mt.so.2" "$dir/libzookeeper_mt.a"
work=$dir/work
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# The package generates the protocol's records with Maven and its own Java class; the class alone does. The package's
# source wants a function that OpenSSL had before version 3, only to write a log line.
build() {
    set -e
    cd "$work/source"
    patch -p1 <"$patch"
    cd zookeeper-client/zookeeper-client-c
    records=$work/source/zookeeper-jute/src/main/resources/zookeeper.jute
    mkdir generated
    (cd generated && java -cp /usr/share/java/zookeeper-jute.jar org.apache.jute.compiler.generated.Rcc -l c "$records")
    autoreconf -if
    CXX=no ./configure --with-openssl --without-cppunit --without-sasl --with-pic
    make -j"$(nproc)" AM_CFLAGS= CFLAGS='-g -O2 -fstack-protector-strong -Wformat -Werror=format-security' \
        CPPFLAGS='-D"FIPS_mode()=0" -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2' \
        LDFLAGS='-Wl,-z,relro,-z,now -Wl,-z,defs' libzookeeper_mt.la
    mv .libs/libzookeeper_mt.a "$dir"
    mv .libs/libzookeeper_mt.so.2.*.* "$dir/library"
}

echo "building libzookeeper with TLS in $dir (log: $dir/log)" >&2
: >"$dir/log"
if ! "$tools/source.sh" "$work" >>"$dir/log" 2>&1; then
    tail -n 5 "$dir/log" >&2
    echo "no libzookeeper with TLS: its source package is not to be had here" >&2
    exit 3
fi
(build) >>"$dir/log" 2>&1
# not `if (build)`: that would switch its `set -e` off
# shellcheck disable=SC2181
if [ $? -ne 0 ]; then
    tail -n 20 "$dir/log" >&2
    echo "libzookeeper with TLS cannot be built: $dir/log" >&2
    exit 1
fi
mv "$dir/library" "$dir/libzookeeper_mt.so.2" && recipe >"$dir/recipe" && rm -f "$dir/patch"
