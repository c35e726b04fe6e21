#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the README's commands in a fresh clone of this repository, in a minimal Debian (debootstrap --variant=minbase) that
# has git and make and nothing else: a package that tools/deps.sh does not name is missing there.
# usage: tools/bare.sh [COMMAND]...     without a command: 'make demo' 'make test'
# Runs as root. The chroot takes its packages from where this machine takes Debian's. It needs some GB in TMPDIR.
# BARE_LIMIT: seconds for everything, 7200. Mounts and processes are in namespaces of their own, which end with it.
# BARE_WITH: a folder, which is /root/with in there; what is written there stays.
set -u

fail() {
    echo "tools/bare.sh: $*" >&2
    exit 1
}

# apt's own list of the places that it takes packages from: one "deb URI RELEASE COMPONENT" for each of Debian's.
sources() {
    # shellcheck disable=SC2016 # apt's fields, not the shell's variables
    apt-get indextargets --format '$(ORIGIN)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sed -n 's/^Debian|//p' | sort -u
}

# How apt reaches them: proxies and the like.
reach() {
    apt-config dump | grep -iE '^Acquire::[^ ]*(proxy|verify|cainfo|timeout|retries)' || true
}

# ---- inside of the namespaces -----------------------------------------------------------------------------------------

make_system() {
    echo '== a minimal system' >&2
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    mirror=$(sed -n "s/^deb \([^ ]*\) $codename main\$/\1/p" "$dir/sources" | head -n 1)
    [ -n "$mirror" ] || fail "apt has no source of Debian's $codename main"
    reach >"$dir/reach"
    mount --bind "$root" "$root" # what runs in there may want namespaces of its own: then its root must be a mount
    debootstrap --variant=minbase "$codename" "$root" "$mirror" >"$dir/log" 2>&1 </dev/null || {
        tail -n 20 "$dir/log" >&2
        fail 'debootstrap failed'
    }
    cp "$dir/sources" "$root/etc/apt/sources.list"
    cp "$dir/reach" "$root/etc/apt/apt.conf.d/90bare"
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    if [ "${BARE_WITH:-}" ]; then
        mkdir "$root/root/with"
        mount --bind -- "$BARE_WITH" "$root/root/with" || fail "there is no $BARE_WITH"
    fi
}

inside() { # inside COMMAND: in the chroot, with nobody's environment
    chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "$1" </dev/null
}

run() { # run COMMAND...
    make_system || return 1
    echo '== git and make' >&2
    inside 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install git make' \
        >"$dir/log" 2>&1 || {
        tail -n 20 "$dir/log" >&2
        fail 'git and make cannot be installed'
    }
    inside 'git clone -q /root/zklock.git /root/zklock' || fail 'the repository cannot be cloned'
    status=0
    for command; do
        echo "== $command" >&2
        if inside "cd /root/zklock && $command"; then
            echo "ok      $command"
        else
            echo "FAILED  $command"
            status=1
        fi
    done
    return "$status"
}

if [ "${BARE_DIR:-}" ]; then
    dir=$BARE_DIR root=$BARE_DIR/root
    unset BARE_DIR
    run "$@"
    exit
fi

# ---- outside ----------------------------------------------------------------------------------------------------------

[ "$(id -u)" -eq 0 ] || fail 'only root can make a chroot'
[ $# -gt 0 ] || set -- 'make demo' 'make test'

dir=$(mktemp -d "${TMPDIR:-/tmp}/zklock-bare.XXXXXX") || exit 1
child=
# No mount of the namespace is visible out here: this removes the chroot's own files. Processes that were killed a moment
# ago may still write some.
# shellcheck disable=SC2317 # the trap calls it
clean() {
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null
        wait "$child" 2>/dev/null
    fi
    for _ in 1 2 3 4 5; do
        if rm -rf --one-file-system "$dir" 2>/dev/null; then return; fi
        sleep 1
    done
    fail "cannot remove $dir"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

mkdir -p "$dir/root/root"
sources >"$dir/sources"
git clone -q --bare --no-hardlinks . "$dir/root/root/zklock.git" || fail 'this is no repository'
[ -z "$(git status --porcelain)" ] || echo 'note: what is not committed is not in the clone' >&2

# unshare ignores TERM; when it is killed, the kernel ends the first process of the namespace and all others with it.
BARE_DIR=$dir timeout --kill-after=1 "${BARE_LIMIT:-7200}" \
    unshare --mount --pid --fork --kill-child --propagation private -- "$0" "$@" &
child=$!
wait "$child"
status=$?
child=
[ "$status" -ne 137 ] && [ "$status" -ne 124 ] || echo "tools/bare.sh: not done after ${BARE_LIMIT:-7200} s" >&2
exit "$status"
