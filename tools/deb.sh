#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Debian packages of this tree in OUT, and asks lintian about them.
# usage: tools/deb.sh OUT [VERSION]     VERSION: another one than debian/changelog has, to try an upgrade
set -eu

out=$1
version=${2:-}
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
source=$out/zklock
trap 'rm -rf "$source"' EXIT
trap 'exit 130' INT TERM HUP

# A copy: debian/rules cleans the tree that it builds in.
mkdir "$source"
tar --exclude=./build --exclude=./.git -cf - . | tar -C "$source" -xf -
cd "$source"
if [ "$version" ]; then
    {
        sed -n "1s/([^)]*)/($version)/p" debian/changelog
        printf '\n  * A second build.\n\n'
        sed -n "/^ -- /{s/>  .*/>  $(LC_ALL=C date -R)/p;q;}" debian/changelog
        echo
        cat debian/changelog
    } >changelog.new
    mv changelog.new debian/changelog
fi

# The variables of the make that runs this are not for the packages'.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES CFLAGS CPPFLAGS LDFLAGS 2>/dev/null || true
echo "building the Debian packages in $out (log: $out/log)" >&2
if ! dpkg-buildpackage -b -us -uc "-j$(nproc)" >"$out/log" 2>&1 </dev/null; then
    tail -n 30 "$out/log" >&2
    exit 1
fi
lintian --allow-root --fail-on error,warning "$out"/zklock_*.changes
ls "$out"/*.deb
