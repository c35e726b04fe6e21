#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and installs the rock for each Lua into an empty tree, and uses zklock from there with that Lua's interpreter.
# For Lua 5.4 and LuaJIT it runs the commands of README.md, docs/openresty.md and docs/internals/packaging.md, in other
# folders. With Lua 5.4 it also packs the release: the source rock and the binary rock are installed into empty trees,
# used and removed. The rock has its pages and examples, and building it leaves nothing in a clone but what git ignores.
# With ZOOKEEPER=static the module needs nothing but libc, and has TLS if `make libzookeeper` has built its archive.
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

shown() { # shown PAGE make|remove [LUA_INCDIR=DIR]: runs the command that the page shows, in other folders
    # shellcheck disable=SC2016
    command=$(sed -n '/^```sh$/,/^```$/ { /^luarocks .*'"$2"' .*--tree=/p; }' "$1" |
        sed -e 's|--tree=[^ ]*|--tree="$tree"|' -e "s|LUA_INCDIR=[^ ]*|${3:-}|")
    [ -n "$command" ] || { echo "$1 shows no luarocks $2"; exit 1; }
    eval "$command"
}

sources() { # sources FOLDER: a copy of the tree, because luarocks compiles where the sources are
    mkdir -p "$1"
    for file in csrc lua rockspec Makefile tools bench *.md LICENSE docs examples .gitignore; do
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

a_clone() { # makes the folder a repository, as somebody has it who has cloned it
    git init -q
    git add .
    git -c user.name=rock -c user.email=rock@localhost -c commit.gpgSign=false commit -q -m rock
}

clean() { # the folder has nothing that git would show
    left=$(git status --porcelain)
    [ -z "$left" ] || { echo "luarocks make leaves: $left"; exit 1; }
}

# Each link of the installed pages leads to a page or an example that is installed, but for those into the sources.
links() { # links TREE
    cd "$1/lib/luarocks/rocks-5.4/zklock/"* || exit 1
    for page in README.md docs/README.md docs/api.md examples/ten_lines.lua LICENSE; do
        [ -s "$page" ] || { echo "the rock has no $page"; exit 1; }
    done
    # shellcheck disable=SC2046 # the pages' names have no blanks
    LUA_PATH="$sources_of_spec/?.lua" lua5.4 -e '
        local markdown, dead = require "spec.support.markdown", 0
        for _, page in ipairs(arg) do
            for _, link in ipairs(markdown.read(page):links()) do
                local file = io.open(link[1])
                if file then
                    file:close()
                elseif not link[1]:find "^%l+/" or link[1]:find "^docs/" or link[1]:find "^examples/" then
                    print(page .. " links to " .. link[1] .. ", which the rock does not have")
                    dead = dead + 1
                end
            end
        end
        os.exit(dead == 0)' rock $(find . -name '*.md' | sed 's|^\./||')
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
    a_clone
    case $1 in
    luajit) shown docs/openresty.md make "LUA_INCDIR=$(pkg-config --variable=includedir luajit)" ;;
    5.4) shown README.md make ;;
    *) luarocks --lua-version="$version" make --tree="$tree" rockspec/zklock-scm-1.rockspec ;;
    esac
    clean
    tools/hardened.sh "$tree/lib/lua/$version/zklock/core.so" luaopen_zklock_core
    use "$interpreter" "$version" "$tree"
}

static() { # for LuaJIT, with libzookeeper in it
    set -e
    cd "$tmp/luajit/source"
    tls=false
    if [ -e "$sources_of_spec/build/tls/libzookeeper_mt.a" ]; then
        mkdir -p build/tls
        cp "$sources_of_spec/build/tls/libzookeeper_mt.a" build/tls
        tls=true
    fi
    tree=$tmp/luajit/static
    shown docs/internals/packaging.md make "LUA_INCDIR=$(pkg-config --variable=includedir luajit)"
    core=$tree/lib/lua/5.1/zklock/core.so
    tools/hardened.sh "$core" luaopen_zklock_core
    needs=$(readelf --dynamic --wide "$core" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' |
        grep -Ev '^(libc|libm|libpthread|libdl|ld-linux.*)\.so' || true)
    [ -z "$needs" ] || { echo "the static module needs $needs"; exit 1; }
    use luajit 5.1 "$tree"
    has_tls=$(cd "$tmp/elsewhere" && LUA_PATH="$tree/share/lua/5.1/?.lua;$tree/share/lua/5.1/?/init.lua" \
        LUA_CPATH="$tree/lib/lua/5.1/?.so" luajit -e 'print(require("zklock").features.tls)')
    [ "$has_tls" = "$tls" ] || { echo "the static module's TLS: $has_tls, expected $tls"; exit 1; }
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
    tree=$1
    shown "$sources_of_spec/README.md" remove
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

sources_of_spec=$PWD
release=$(sed -n 's/^return "\(.*\)"$/\1/p' lua/zklock/version.lua)
packed=$tmp/packed
for lua; do
    step "$lua" check "$lua"
    [ "$lua" != luajit ] || step 'ZOOKEEPER=static' static
    [ "$lua" = 5.4 ] || continue
    step "the source rock of $release" pack_source
    step 'luarocks test' run_tests
    step 'the source rock, installed' install_rock "$packed/from-source" "$packed/zklock-$release-1.src.rock"
    step 'the links of its pages' links "$packed/from-source"
    step 'the binary rock' pack_binary
    step 'the source rock, removed' remove_rock "$packed/from-source"
    step 'the binary rock, installed' install_rock "$packed/from-binary" "$packed/binary/"*.rock
    step 'the binary rock, removed' remove_rock "$packed/from-binary"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
