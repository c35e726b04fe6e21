#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages that the given make goals need and that are missing; nothing else.
# usage: tools/deps.sh [build|install|test|test-all|steady|nightly|tls|neighbours|chaos|keeper|soak|soak-lua|slow|random|model|sim|costs|recorder|coverage|mutants|fuzz|demo|bare|lint|asan|tsan|bench|instructions|duel|screenshot|release|picture|contest|platforms|deb|deb-check|image]...
# without a goal: all of them
# --list in front of them: prints the packages, and installs nothing
set -eu
list=
if [ "${1:-}" = --list ]; then
    list=yes
    shift
fi

# PACKAGE, or PACKAGE|FILE where another package may have brought the same file.
cc='gcc|/usr/bin/cc binutils libc6-dev pkg-config|/usr/bin/pkg-config libzookeeper-mt-dev libsmartcols-dev'
lua54='lua5.4 liblua5.4-dev'
luas="$lua54 lua5.1 liblua5.1-0-dev lua5.2 liblua5.2-dev lua5.3 liblua5.3-dev
    luajit2|/usr/bin/luajit libluajit2-5.1-dev"
# Where Debian's Lua 5.5 is installed, its headers are wanted, too (Debian 12 has none).
if dpkg-query -W lua5.5 >/dev/null 2>&1; then
    luas="$luas liblua5.5-dev"
fi
server='default-jre-headless|/usr/bin/java libzookeeper-java'
# Python, the shells and mandoc read what the command line writes, and what comes with it.
specs="$server python3|/usr/bin/python3 procps|/usr/bin/ps lua-busted lua-luv lua-socket lua-cqueues lua-copas lua-filesystem lua-sql-sqlite3
    python3|/usr/bin/python3 bash fish zsh mandoc bsdextrautils|/usr/bin/col"
curator='default-jdk-headless|/usr/bin/javac libcurator-recipes-java libcurator-framework-java libcurator-client-java
    libguava-java libslf4j-java'
golang='golang-go|/usr/bin/go golang-github-samuel-go-zookeeper-dev'
etcd='etcd-server golang-etcd-server-dev'
# Hosts whose Lua the examples run in; Apache's without what makes a service of it.
small_hosts='haproxy neovim'
large_hosts='prosody knot-resolver apache2-bin'
nginx='nginx-light|/usr/sbin/nginx libnginx-mod-http-lua wrk curl openssl'
# Prometheus scrapes the example, and a browser reads the page for operators.
monitoring='prometheus|/usr/bin/promtool chromium'

# MariaDB and its tools without what makes a service of it; Redis and etcd come with theirs (see forbid_services).
rivals='mariadb-server-core mariadb-client-core redis-server libhiredis-dev libmariadb-dev
    python3-kazoo gnuplot-nox dpkg-dev'

tls='autoconf automake libtool dpkg-dev libssl-dev openssl' # for tools/tls.sh and its spec

# Compilers for other machines, with their libc, and what runs such programs.
platforms='gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross
    gcc-i686-linux-gnu libc6-dev-i386-cross qemu-user musl-tools autoconf automake libtool dpkg-dev'

mutants='binutils clang lua-dkjson'

# debian/control has the list, besides what every package is built with. lintian looks at what comes of it.
packages() {
    sed -n '/^Build-Depends:/,/^[A-Z].*:/ s/^ \([a-z0-9.+-]*\).*/\1/p' debian/control | sed 's/^debhelper-compat$/debhelper/'
    echo 'build-essential lintian'
}

wanted=
[ $# -gt 0 ] || set -- build test test-all steady nightly tls neighbours chaos keeper soak soak-lua slow random model sim costs recorder coverage mutants fuzz demo lint asan tsan bench instructions duel screenshot release picture platforms
for goal; do
    case $goal in
    test | test-all | steady) wanted="$wanted $cc $luas $specs $nginx $small_hosts luarocks git|/usr/bin/git $mutants" ;;
    tls) wanted="$wanted $cc $lua54 $specs $tls" ;;
    neighbours) wanted="$wanted $cc $lua54 $specs $curator $golang python3-kazoo" ;;
    asan | soak) wanted="$wanted $cc $lua54 luajit2|/usr/bin/luajit libluajit2-5.1-dev $specs $nginx" ;;
    bench) wanted="$wanted $cc $lua54 luajit2|/usr/bin/luajit libluajit2-5.1-dev $specs $nginx $curator $golang $etcd
        python3-kazoo" ;;
    instructions) wanted="$wanted $cc $lua54 luajit2|/usr/bin/luajit libluajit2-5.1-dev $specs $nginx valgrind" ;;
    tsan | keeper) wanted="$wanted $cc $lua54 $specs" ;;
    slow) wanted="$wanted $cc $luas $specs $nginx $monitoring $small_hosts $large_hosts valgrind libfaketime" ;;
    soak-lua) wanted="$wanted $cc $luas $specs" ;;
    screenshot) wanted="$wanted $cc $lua54 luajit2|/usr/bin/luajit libluajit2-5.1-dev $specs $nginx $monitoring" ;;
    duel) wanted="$wanted $cc $lua54 $specs etcd-server etcd-client" ;;
    contest) wanted="$wanted $cc $lua54 $specs $curator $golang $etcd $rivals" ;;
    chaos) wanted="$wanted $cc $lua54 $server lua-luv lua-socket" ;;
    demo) wanted="$wanted $cc $lua54 $server lua-luv lua-sql-sqlite3" ;;
    picture) wanted="$wanted $cc $lua54 $server lua-luv lua-socket lua-sql-sqlite3 python3|/usr/bin/python3" ;;
    recorder) wanted="$wanted $cc $lua54 $server lua-luv lua-socket" ;;
    coverage) wanted="$wanted $cc $lua54" ;;
    mutants) wanted="$wanted $cc $lua54 $mutants" ;;
    random | sim | costs | install | install-lib) wanted="$wanted $cc" ;;
    nightly) wanted="$wanted $cc $luas $specs $nginx $monitoring $mutants valgrind libfaketime libclang-rt-dev" ;;
    fuzz) wanted="$wanted $cc $lua54 clang libclang-rt-dev" ;;
    model) wanted="$wanted gcc|/usr/bin/cc libc6-dev spin" ;;
    platforms) wanted="$wanted $cc $lua54 $server lua-busted lua-luv lua-socket lua-filesystem $platforms" ;;
    deb) wanted="$wanted $(packages)" ;;
    deb-check) wanted="$wanted $(packages) $cc $lua54 $server lua-luv lua-socket debootstrap git" ;;
    image) wanted="$wanted debootstrap git buildah podman podman-compose iproute2 curl" ;;
    bare) wanted="$wanted debootstrap git" ;;
    release) wanted="$wanted $cc $lua54 luarocks git|/usr/bin/git" ;;
    lint) wanted="$wanted $cc $lua54 lua5.1 luajit2|/usr/bin/luajit lua-check luarocks clang-format clang-tidy shellcheck mandoc git|/usr/bin/git $mutants" ;;
    *) wanted="$wanted $cc $luas" ;; # what is compiled
    esac
done

if [ "$list" ]; then
    # shellcheck disable=SC2086 # a list of words
    printf '%s\n' $wanted
    exit 0
fi

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
    echo 'note: no apt-get here; CONTRIBUTING.md lists the packages to install' >&2
    exit 0 # if one is missing, the build says so
fi

find_missing() {
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n')
    missing=
    for item in $wanted; do
        package=${item%%|*}
        case $item in
        *\|*) if [ -e "${item#*|}" ]; then continue; fi ;;
        esac
        case " $missing " in
        *" $package "*) continue ;;
        esac
        if ! printf '%s\n' "$installed" | grep -qx "installed $package"; then
            missing="$missing $package"
        fi
    done
    [ -n "$missing" ] || exit 0
}
find_missing

if [ "$(id -u)" -eq 0 ]; then
    root='env'
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    root='sudo -n env'
else
    if command -v sudo >/dev/null 2>&1; then
        sudo='sudo '
        echo 'Packages are missing. Run this line, then make again:' >&2
    else
        sudo=
        echo 'Packages are missing. Run this line as root, then make again:' >&2
    fi
    echo "${sudo}apt-get update && ${sudo}apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi

# One at a time on this machine: what the other one installs may be what we want, and policy-rc.d is one file. Nobody can
# lock us out for longer than this. A started process does not get the lock: a service would keep it.
exec 9<"${DEPS_LOCK:-/var/lib/dpkg}"
if ! flock -n 9; then
    echo 'another tools/deps.sh is installing: waiting for it' >&2
    flock -w 1800 9 || echo 'it takes too long: going on' >&2
    find_missing
fi

apt() { # apt OPTION... COMMAND...: waits for whoever else installs something on this machine
    $root DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get "$@" -o DPkg::Lock::Timeout=600 </dev/null 9<&-
}

install() { # install OPTION...
    # shellcheck disable=SC2086 # a list of words
    apt "$@" --no-install-recommends install $missing
}

# For the lists apt-get itself does not wait.
update() {
    for _ in $(seq 300); do
        if said=$(apt -qq update 2>&1); then
            return 0
        fi
        case $said in
        *'Could not get lock'*) sleep 2 ;;
        *) break ;;
        esac
    done
    printf '%s\n' "$said" >&2
    return 1
}

echo "going to install with apt-get for make $* (DEPS= leaves that alone):$missing" >&2

# When a process began, so that another one with its number is not taken for it.
began() { # began PID
    sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f20
}

# Debian starts a package's service when it installs it; nobody here wants a web server, or a contest's servers, of the
# system's. Should we be killed, what we leave behind forbids nothing any more, and the next run takes it for ours.
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
mark='# of zklock'\''s tools/deps.sh'
forbid_services() {
    cat <<END
#!/bin/sh
$mark: none of these services while process $$ installs one
began=\$(sed 's/.*) //' /proc/$$/stat 2>/dev/null | cut -d' ' -f20)
[ "\$began" = "$(began $$)" ] || exit 0
for word; do
    case \$word in
    nginx | nginx.service | redis-server | redis-server@*.service | redis-server.service | etcd | etcd.service) exit 101 ;;
    haproxy | haproxy.service | prosody | prosody.service | kresd* | kres-* | knot-resolver*) exit 101 ;;
    prometheus | prometheus.service) exit 101 ;;
    esac
done
exit 0
END
}
if [ ! -e "$policy" ] || grep -qF "$mark" "$policy"; then
    trap '$root rm -f "$policy" "$policy.$$"' EXIT
    trap 'exit 1' HUP INT TERM
    forbid_services | $root tee "$policy.$$" >/dev/null
    $root chmod 755 "$policy.$$"
    $root mv -f "$policy.$$" "$policy"
fi

# The package lists are fetched only if these packages cannot be had with the ones at hand.
if ! install -s >/dev/null 2>&1 || ! install -y -qq >&2; then
    update
    install -y -qq >&2
fi
