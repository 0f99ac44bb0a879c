#!/usr/bin/env bash
# Makes what a release consists of, in target/archives: for each target that this machine can build for, an archive with the program
# and a list of its parts (SBOM, CycloneDX); the checksums; and an image where an engine runs. What cannot be built is named, with
# what is missing. Two runs of one commit, compiler and target give the same bytes: `release.sh --digest` builds the program for
# this machine in a folder of its own and prints its SHA-256.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=target/archives
cargo_home=${CARGO_HOME:-$HOME/.cargo}
host=$(rustc -vV | sed -n 's/^host: //p')
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
targets="x86_64-unknown-linux-musl aarch64-unknown-linux-musl $host"
# The time of all files in the archives, in Unix seconds.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# The C compiler for a target: `TRIPLE-gcc` of Debian's cross compilers, or musl's wrapper for this processor.
compiler() {
    case $1 in
        "$host") echo cc ;;
        "${host%%-*}-unknown-linux-musl") echo musl-gcc ;;
        aarch64-unknown-linux-musl) echo aarch64-linux-musl-gcc ;;
        x86_64-unknown-linux-musl) echo x86_64-linux-musl-gcc ;;
    esac
}

# Prints what is missing to build for a target; nothing if all is there.
missing() {
    local cc
    cc=$(compiler "$1")
    if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]; then
        echo "the standard library of Rust; run: rustup target add $1"
    elif ! command -v "$cc" >/dev/null 2>&1; then
        echo "the C compiler $cc, such as of the package musl-tools"
    fi
}

# mapped OPTION TARGET_DIR: this option of a compiler for each path that would otherwise be part of the program. Build scripts write
# sources into the target folder, wherever it is; the compiler shows the sources of the standard library where they are installed.
mapped() {
    local library
    library=$(rustc --print sysroot)/lib/rustlib/src/rust
    echo "$1=$library=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')" \
        "$1=$cargo_home=/cargo" "$1=$PWD=/headgate" "$1=$2=/headgate/target"
}

# build TARGET TARGET_DIR: compiles the program into this folder, an absolute path, without the paths of this machine in it; prints
# its path.
build() {
    local target=$1 cc name
    cc=$(compiler "$target")
    name=${target//-/_}
    env "RUSTFLAGS=$(mapped --remap-path-prefix "$2")" "CC_$name=$cc" "CFLAGS_$name=$(mapped -ffile-prefix-map "$2")" \
        "CARGO_TARGET_$(echo "$name" | tr '[:lower:]' '[:upper:]')_LINKER=$cc" CARGO_INCREMENTAL=0 \
        cargo build --profile dist --locked --bin headgate --target "$target" --target-dir "$2" >&2
    require_no_paths "$2/$target/dist/headgate" "$2"
    echo "$2/$target/dist/headgate"
}

# require_no_paths PROGRAM TARGET_DIR: fails if the program has a path of this machine, which another one would have otherwise.
require_no_paths() {
    local place
    for place in "$cargo_home" "$PWD" "$2"; do
        if grep --quiet --text --fixed-strings "$place/" "$1"; then
            echo "release: the program has paths of this machine, below $place" >&2
            exit 1
        fi
    done
}

# archive TARGET PROGRAM: writes the archive and the SBOM of a target.
archive() {
    local name=headgate-$version-$1 place
    place=$folder/$name
    rm -rf "$place"
    mkdir -p "$place"
    install -m 755 "$2" "$place/headgate"
    strip "$place/headgate" 2>/dev/null || true
    cp -R LICENSE README.md SECURITY.md CHANGELOG.md routes.yaml schemas "$place"
    deploy/sbom.py "$1" >"$folder/$name.cdx.json"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" \
        -C "$folder" -c "$name" | gzip -9 --no-name >"$folder/$name.tar.gz"
    echo "release: $folder/$name.tar.gz"
}

image() {
    local engine
    for engine in docker podman buildah; do
        if "$engine" info >/dev/null 2>&1; then
            "$engine" build -f Containerfile -t "headgate:$version" --build-arg "HEADGATE_COMMIT=$(git rev-parse HEAD)" . >&2
            echo "release: image headgate:$version"
            return
        fi
    done
    echo "release: no image: no engine runs (docker, podman or buildah)"
}

case $* in
    "") ;;
    --digest)
        scratch=$(mktemp -d)
        trap 'rm -rf "$scratch"' EXIT
        sha256sum "$(build "$host" "$scratch")" | cut -d ' ' -f 1
        exit
        ;;
    *) echo "usage: release.sh [--digest]" >&2; exit 2 ;;
esac
mkdir -p "$folder"
rm -rf "${folder:?}"/*
for target in $targets; do
    reason=$(missing "$target")
    if [ -n "$reason" ]; then
        echo "release: no archive for $target: this machine lacks $reason"
    else
        archive "$target" "$(build "$target" "$PWD/target")"
    fi
done
(cd "$folder" && sha256sum ./*.tar.gz ./*.cdx.json >SHA256SUMS && cat SHA256SUMS)
image
