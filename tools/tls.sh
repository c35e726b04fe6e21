#!/bin/sh
# Builds a libzookeeper_mt with TLS from the distribution's own source package, of which the distribution's binary is
# built without, and with tls.patch, which says who is trusted. Nothing is installed: the library stays in DIR, for
# LD_LIBRARY_PATH. What was built so before is kept.
# usage: tools/tls.sh DIR        status 3: the source package is not to be had here
set -u

dir=$1
patch=$(cd "$(dirname "$0")" && pwd)/tls.patch || exit 1
[ -e "$dir/libzookeeper_mt.so.2" ] && cmp -s "$patch" "$dir/patch" && exit 0
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1
rm -f "$dir/libzookeeper_mt.so.2"
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

get_source() {
    cd "$work" || return
    apt update # one source of several may fail
    apt source --download-only zookeeper && dpkg-source --no-check -x zookeeper_*.dsc source
}

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
    CXX=no ./configure --with-openssl --without-cppunit --without-sasl --disable-static
    make -j"$(nproc)" AM_CFLAGS= CPPFLAGS='-D"FIPS_mode()=0"' LDFLAGS=-Wl,-z,defs libzookeeper_mt.la
    mv .libs/libzookeeper_mt.so.2.*.* "$dir/library"
}

echo "building libzookeeper with TLS in $dir (log: $dir/log)" >&2
: >"$dir/log"
if ! (get_source) >>"$dir/log" 2>&1; then
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
mv "$dir/library" "$dir/libzookeeper_mt.so.2" && cp "$patch" "$dir/patch"
