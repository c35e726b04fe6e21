#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a release of the present commit, in build/release: the source tarball, the rockspec, the source rock, the binary
# rock of Lua 5.4 for this system, and their checksums. It uploads nothing.
# Everything happens in a fresh clone: the version is written and committed there, the tests run there, and tools/pack.sh
# packs it there. The commit, the tag and the packages are brought here last, so a release that fails leaves
# nothing behind, and leaves the packages of the former one.
# usage: tools/release.sh VERSION [TEST]     TEST: the command that tests the clone, `make test lint test-all`
set -u

version=${1:-}
test=${2:-make test lint test-all}
tag=v$version

fail() {
    echo "make release: $*" >&2
    exit 1
}

say() { echo "== $*"; }

[ -n "$version" ] || fail 'VERSION=MAJOR.MINOR.PATCH expected'
[ "$(git rev-parse --show-prefix 2>/dev/null || echo no)" = '' ] || fail 'git finds no repository of zklock here'
branch=$(git symbolic-ref -q --short HEAD) || fail 'no branch is checked out'
changes=$(git status --porcelain)
[ -z "$changes" ] || fail "the tree has changes that are not committed: $changes"
if git rev-parse -q --verify "refs/tags/$tag" >/dev/null; then fail "there is a tag $tag already"; fi

here=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/zklock-release.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
out=$work/release
mkdir "$out" || exit 1

say "a fresh clone of $branch"
clone=$work/zklock
git clone -q --no-hardlinks "file://$here" "$clone" || fail 'the repository cannot be cloned'
for key in user.name user.email user.signingKey gpg.format commit.gpgSign tag.gpgSign; do # what is set here only
    if value=$(git config "$key"); then git -C "$clone" config "$key" "$value"; fi
done
cd "$clone" || exit 1

say "version $version"
lua5.4 tools/version.lua "$version" || exit 1
git add -A
if ! git diff --cached --quiet; then
    git commit -q -m "release: $version" -m "The version, the rockspec and the changelog name this release." ||
        fail 'git cannot commit'
fi

say "$test"
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES VERSION RELEASE_TEST # what the make that runs this has for its own
sh -c "$test" </dev/null || fail "the tests fail: $test"
[ -z "$(git status --porcelain)" ] || fail "the tests leave files behind: $(git status --porcelain)"
git tag -a -m "zklock $version" "$tag" || fail 'git cannot tag'

tools/pack.sh "$version" "$out" || fail 'the tag cannot be packed'

say "the commit and the tag $tag"
cd "$here" || exit 1
mkdir -p build || exit 1
packages=$(mktemp -d build/release.XXXXXX) || exit 1
trap 'rm -rf "$work" "$packages"' EXIT
cp "$out"/* "$packages" || fail 'the packages cannot be copied to build'
git fetch -q "$clone" HEAD || exit 1
git merge -q --ff-only FETCH_HEAD || fail "$branch has changed meanwhile"
git fetch -q "$clone" "refs/tags/$tag:refs/tags/$tag" || fail "the tag $tag cannot be fetched"
rm -rf build/release
chmod 755 "$packages"
mv "$packages" build/release || exit 1
cat build/release/SHA256SUMS
echo "Nothing is uploaded. docs/internals/releasing.md says how: git push origin $branch $tag"
