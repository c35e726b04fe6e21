#!/bin/sh
# SPDX-License-Identifier: MIT
# In a bare Debian: installs the packages of FOLDER/first, takes a lock in each way that they offer, does so again with
# those of FOLDER/second, which have a higher version, and purges them. `make deb-check` runs this in a debootstrap.
# usage: tools/deb_check.sh FOLDER HOSTS     HOSTS: ZooKeeper's servers
set -eu

folder=$1
export ZOOKEEPER="$2" ZKLOCK_SERVERS="$2" DEBIAN_FRONTEND=noninteractive
packages=$(cd "$folder/first" && for file in *_*.deb; do echo "${file%%_*}"; done | grep -v -- '-dbgsym$')
[ "$(echo "$packages" | wc -l)" -eq 4 ] || { echo "four packages expected, got: $packages" >&2; exit 1; }
library=$(echo "$packages" | grep '^libzklock[0-9]*$')
examples=/usr/share/doc/lua-zklock/examples
work=$(mktemp -d)
cd "$work" # which has nothing of zklock

get() { # get WORD...: packages, and files of packages
    apt-get -qq -y --no-install-recommends install "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        echo "cannot install $*" >&2
        exit 1
    }
}

files() { # files NUMBER PACKAGE...
    number=$1
    shift
    for package; do echo "$folder/$number/$package"_*.deb; done
}

says() { # says WHAT PATTERN COMMAND...: the command succeeds, and a line of what it says matches
    what=$1 pattern=$2
    shift 2
    said=$("$@" 2>&1) || { echo "$what: $said" >&2; exit 1; }
    printf '%s\n' "$said" | grep -qE "$pattern" || { echo "$what says: $said" >&2; exit 1; }
    echo "$what: ok"
}

command_line() {
    says 'zklock run' '^held$' zklock run --wait 30 /deb/command -- echo held
    says 'zklock, its version' "^zklock " zklock --version
}

modules() {
    for lua in lua5.1 lua5.2 lua5.3 lua5.4 luajit; do
        says "$lua" 'with token [0-9]+$' "$lua" "$examples/ten_lines.lua"
    done
}

programs() {
    example=/usr/share/doc/libzklock-dev/examples/epoll.c
    # shellcheck disable=SC2046 # pkg-config's answer is a list of words
    cc -o shared "$example" $(pkg-config --cflags --libs zklock)
    # shellcheck disable=SC2046,SC2086
    cc -static -o static "$example" $(pkg-config --static --cflags --libs zklock)
    for kind in shared static; do says "a $kind program" '^granted [0-9]+$' "./$kind" "$ZOOKEEPER" /deb/program 0; done
}

# One after the other, so that nothing that another one brings is there by chance.
apt-get -qq update
# shellcheck disable=SC2046,SC2086
{
    get $(files first zklock)
    command_line
    apt-get -qq -y purge --auto-remove zklock >/dev/null
    get $(files first lua-zklock) lua5.1 lua5.2 lua5.3 lua5.4 luajit
    modules
    get $(files first libzklock-dev "$library") gcc libc6-dev pkg-config
    programs
    get $(files first zklock)

    before=$(dpkg-query -W -f '${Version}\n' $packages | sort -u)
    get $(files second $packages)
    after=$(dpkg-query -W -f '${Version}\n' $packages | sort -u)
    dpkg --compare-versions "$before" lt "$after" || { echo "no upgrade: $before, then $after" >&2; exit 1; }
    echo "upgraded from $before to $after: ok"
    command_line
    modules
    ./shared "$ZOOKEEPER" /deb/program 0 >/dev/null # a program that was linked with the library before
    programs

    apt-get -qq -y purge $packages >/dev/null
}
left=$(find / -xdev \( -path /proc -o -path /root -o -path "$work" \) -prune -o -name '*zklock*' -print)
[ -z "$left" ] || { echo "purged packages leave: $left" >&2; exit 1; }
# shellcheck disable=SC2086
if dpkg-query -W $packages 2>/dev/null | grep .; then exit 1; fi
echo 'purged: ok'
