#!/bin/sh
# Builds and installs the rock for each Lua into an empty tree, and uses zklock from there with that Lua's interpreter.
# For Lua 5.4 and LuaJIT it runs the commands of README.md and docs/openresty.md, in other folders. With Lua 5.4 it also
# packs the release: the source rock and the binary rock are installed into empty trees, used and removed.
# Ends with `N passed, N failed`. Nothing is fetched: the only server that LuaRocks knows is an empty folder.
# usage: tools/rock.sh LUA...     such as 5.1 5.4 luajit
set -u

tmp=$(mktemp -d "${TMPDIR:-/tmp}/zklock-rock.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

mkdir "$tmp/server"
cat >"$tmp/config.lua" <<END
rocks_servers = { "$tmp/server" }
local_cache = "$tmp/cache"
END
export LUAROCKS_CONFIG="$tmp/config.lua"

shown() { # shown PAGE [LUA_INCDIR=DIR]: runs the command that the page shows, in other folders
    # shellcheck disable=SC2016
    command=$(sed -n '/^```sh$/,/^```$/ { /^luarocks .* --tree=/p; }' "$1" |
        sed -e 's|--tree=[^ ]*|--tree="$tree"|' -e "s|LUA_INCDIR=[^ ]*|${2:-}|")
    [ -n "$command" ] || { echo "$1 shows no luarocks command"; exit 1; }
    eval "$command"
}

sources() { # sources FOLDER: a copy of the tree, because luarocks compiles where the sources are
    mkdir -p "$1"
    for file in csrc lua rockspec Makefile tools bench README.md CHANGELOG.md LICENSE docs examples; do
        if [ -e "$file" ]; then cp -r "$file" "$1"; fi
    done
}

use() { # use INTERPRETER VERSION TREE: in a folder that has nothing of zklock
    mkdir -p "$tmp/elsewhere"
    (cd "$tmp/elsewhere" &&
        LUA_PATH="$3/share/lua/$2/?.lua;$3/share/lua/$2/?/init.lua" LUA_CPATH="$3/lib/lua/$2/?.so" "$1" -e '
            local zklock = require "zklock"
            local client = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0 })) -- no server
            assert(client:mutex("/rock"):path() == "/rock" and client:close())
            print(zklock._VERSION, _VERSION)')
}

check() { # check LUA, in a subshell
    set -e
    case $1 in
    luajit)
        version=5.1
        interpreter=luajit
        ;;
    *)
        version=$1
        interpreter=lua$1
        ;;
    esac
    sources "$tmp/$1/source"
    tree=$tmp/$1/tree
    cd "$tmp/$1/source"
    case $1 in
    luajit) shown docs/openresty.md "LUA_INCDIR=$(pkg-config --variable=includedir luajit)" ;;
    5.4) shown README.md ;;
    *) luarocks --lua-version="$version" make --tree="$tree" rockspec/zklock-scm-1.rockspec ;;
    esac
    tools/hardened.sh "$tree/lib/lua/$version/zklock/core.so" luaopen_zklock_core
    use "$interpreter" "$version" "$tree"
}

# ---- a release, with Lua 5.4 ------------------------------------------------------------------------------------------

rocks() {
    luarocks --lua-version=5.4 "$@"
}

pack_source() { # the rockspec of the release, whose sources are a tarball of this tree
    set -e
    mkdir "$packed"
    sources "$packed/zklock-$release"
    tar -C "$packed" -czf "$packed/zklock-$release.tar.gz" "zklock-$release"
    sed -e "s|^  url = .*|  url = \"file://$packed/zklock-$release.tar.gz\",|" -e '/^  tag = /d' \
        "rockspec/zklock-$release-1.rockspec" >"$packed/zklock-$release-1.rockspec"
    cd "$packed"
    rocks pack "zklock-$release-1.rockspec"
    [ -s "zklock-$release-1.src.rock" ]
}

pack_binary() { # of the tree into which the source rock was installed
    set -e
    mkdir "$packed/binary"
    cd "$packed/binary"
    rocks pack --tree="$packed/from-source" zklock "$release-1"
}

install_rock() { # install_rock TREE ROCK
    set -e
    rocks install --tree="$1" "$2"
    use lua5.4 5.4 "$1"
}

remove_rock() { # remove_rock TREE
    set -e
    rocks remove --tree="$1" zklock
    left=$(find "$1/"* ! -path "$1/lib" ! -path "$1/lib/luarocks" ! -path "$1/lib/luarocks/rocks-5.4" \
        ! -path "$1/lib/luarocks/rocks-5.4/manifest") # the last is LuaRocks' own
    [ -z "$left" ] || { echo "luarocks remove leaves: $left"; exit 1; }
    if use lua5.4 5.4 "$1" 2>/dev/null; then
        echo 'zklock can be loaded after luarocks remove'
        exit 1
    fi
}

run_tests() { # `luarocks test`, whose dependencies need a server: without them, and make prints what it would run
    set -e
    cd "$packed/zklock-$release"
    sed '/^test_dependencies = {/,/^}/d' "rockspec/zklock-$release-1.rockspec" >"zklock-$release-1.rockspec"
    said=$(rocks test "zklock-$release-1.rockspec" -- -n LUAS=5.4)
    printf '%s\n' "$said" | grep -q 'tools/suites.lua' || { echo "$said"; exit 1; }
}

# ---- all of it --------------------------------------------------------------------------------------------------------

passed=0
failed=0
step() { # step NAME COMMAND...
    name=$1
    shift
    echo "== $name"
    ("$@") </dev/null
    # not `if (...)`: that would switch its `set -e` off
    # shellcheck disable=SC2181
    if [ $? -eq 0 ]; then
        passed=$((passed + 1))
    else
        echo "== $name failed"
        failed=$((failed + 1))
    fi
}

release=$(sed -n 's/^return "\(.*\)"$/\1/p' lua/zklock/version.lua)
packed=$tmp/packed
for lua; do
    step "$lua" check "$lua"
    [ "$lua" = 5.4 ] || continue
    step "the source rock of $release" pack_source
    step 'luarocks test' run_tests
    step 'the source rock, installed' install_rock "$packed/from-source" "$packed/zklock-$release-1.src.rock"
    step 'the binary rock' pack_binary
    step 'the source rock, removed' remove_rock "$packed/from-source"
    step 'the binary rock, installed' install_rock "$packed/from-binary" "$packed/binary/"*.rock
    step 'the binary rock, removed' remove_rock "$packed/from-binary"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
