#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the images of Dockerfile with buildah, on a debootstrap (tools/bare.sh): no registry of images is asked. Then it
# runs both in a network of their own, and buys something. They stay in DIR/storage.
# usage: tools/image.sh DIR     as root
set -eu

dir=$1

buildah() {
    command buildah --root "$dir/storage" --runroot "$dir/run" --storage-driver vfs "$@"
}

image() { echo "localhost/zklock-$1"; }

# In a namespace: what runs here ends with it, and uses no port of the machine's.
try() {
    ip link set lo up
    for name in zookeeper nginx; do
        container=$(buildah from --pull-never "$(image $name)")
        command=$(buildah inspect --type image --format '{{range .OCIv1.Config.Cmd}}{{.}} {{end}}' "$(image $name)")
        # shellcheck disable=SC2086 # a list of words
        buildah run --isolation chroot "$container" -- $command >"$dir/$name.log" 2>&1 </dev/null &
    done
    shop=http://127.0.0.1:8080
    if ! curl -fsS --retry 60 --retry-delay 1 --retry-all-errors -o "$dir/answer" "$shop/open?5" 2>"$dir/curl.log" ||
        ! curl -fsS --retry 60 --retry-delay 1 --retry-all-errors -o "$dir/answer" "$shop/buy" 2>>"$dir/curl.log" ||
        [ "$(cat "$dir/answer")" != 'yours, number 5' ]; then
        tail -n 20 "$dir"/*.log "$dir/answer" >&2
        exit 1
    fi
    echo "nginx sold: $(cat "$dir/answer")"
}

if [ "${IMAGE_TRY:-}" ]; then
    try
    exit
fi

# Debian 12's podman-compose has no `config`: what it would build is what it has read.
read=$(podman-compose --dry-run -f compose.yml build 2>/dev/null) || { echo 'podman-compose cannot read compose.yml' >&2; exit 1; }
for name in zookeeper nginx; do
    case $read in
    *"podman build -t zklock-$name -f ./Dockerfile --target $name ."*) ;;
    *) echo "podman-compose would not build zklock-$name: $read" >&2; exit 1 ;;
    esac
done
rm -rf "$dir"
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
echo "building the images in $dir (log: $dir/log)" >&2
{
    BARE_WITH=$dir tools/bare.sh 'tar --one-file-system --exclude=./root --exclude=./var/cache/apt/archives -C / -cf /root/with/base.tar .'
    container=$(buildah from scratch)
    buildah add "$container" "$dir/base.tar" /
    buildah commit --rm "$container" "$(image base)"
    rm "$dir/base.tar"
    for name in zookeeper nginx; do
        buildah build --isolation chroot --pull-never --build-arg "BASE=$(image base)" --target "$name" -t "$(image $name)" .
    done
} >"$dir/log" 2>&1 || { tail -n 20 "$dir/log" >&2; exit 1; }
IMAGE_TRY=yes unshare --net --pid --fork --kill-child --mount-proc -- "$0" "$dir"
