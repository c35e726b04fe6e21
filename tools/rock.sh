#!/bin/sh
# Builds and installs the rock for each Lua into an empty tree, uses zklock from there with that Lua's interpreter,
# and ends with the sum: `N passed, N failed`. For Lua 5.4 and LuaJIT it does what README.md and docs/openresty.md show, but
# for the places.
# usage: tools/rock.sh LUA...     such as 5.1 5.4 luajit
set -u

tmp=$(mktemp -d "${TMPDIR:-/tmp}/zklock-rock.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

shown() { # shown PAGE [LUA_INCDIR=DIR]: the command that the page shows, but for the places
    # shellcheck disable=SC2016
    command=$(sed -n '/^```sh$/,/^```$/ { /^luarocks .* --tree=/p; }' "$1" |
        sed -e 's|--tree=[^ ]*|--tree="$tree"|' -e "s|LUA_INCDIR=[^ ]*|${2:-}|")
    [ -n "$command" ] || { echo "$1 shows no luarocks command"; exit 1; }
    eval "$command"
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
    # luarocks compiles where the sources are, so it gets its own copy of them.
    mkdir -p "$tmp/$1/source" "$tmp/$1/elsewhere"
    cp -r csrc lua rockspec Makefile tools bench "$tmp/$1/source"
    for file in README.md CHANGELOG.md LICENSE docs examples; do
        if [ -e "$file" ]; then cp -r "$file" "$tmp/$1/source"; fi
    done
    tree=$tmp/$1/tree
    cd "$tmp/$1/source"
    case $1 in
    luajit) shown docs/openresty.md "LUA_INCDIR=$(pkg-config --variable=includedir luajit)" ;;
    5.4) shown README.md ;;
    *) luarocks --lua-version="$version" make --tree="$tree" rockspec/zklock-scm-1.rockspec ;;
    esac
    tools/hardened.sh "$tree/lib/lua/$version/zklock/core.so" luaopen_zklock_core
    cd "$tree/../elsewhere"
    LUA_PATH="$tree/share/lua/$version/?.lua;$tree/share/lua/$version/?/init.lua" \
        LUA_CPATH="$tree/lib/lua/$version/?.so" \
        "$interpreter" -e '
            local zklock = require "zklock"
            local client = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0 })) -- nobody is there
            assert(client:mutex("/rock"):path() == "/rock" and client:close())
            print(zklock._VERSION, _VERSION)'
}

passed=0
failed=0
for lua; do
    echo "== $lua"
    (check "$lua") </dev/null
    # not `if (check ...)`: that would switch its `set -e` off
    # shellcheck disable=SC2181
    if [ $? -eq 0 ]; then
        passed=$((passed + 1))
    else
        echo "== $lua failed"
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
