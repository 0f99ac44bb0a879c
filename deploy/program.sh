#!/usr/bin/env bash
# Prints the path of a built program, if one is at hand: that in HEADGATE_PROGRAM, or one of the commit of this checkout, which `make
# release` has unpacked for this machine or which is installed. Without git, the version decides. Prints nothing otherwise.
cd "$(dirname "$0")/.." || exit 1
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
folder=target/archives/headgate-$version
machine=$(uname -m)

# is_current PROGRAM: whether it was built of these sources.
is_current() {
    local printed commit
    printed=$("$1" --version 2>/dev/null) || return
    [[ $printed == "headgate $version ("* ]] || return
    git rev-parse --git-dir >/dev/null 2>&1 || return 0
    commit=$(sed -n 's/^[^(]*(\([0-9a-f]\{7,\}\).*/\1/p' <<<"$printed")
    [ -n "$commit" ] && [[ $(git rev-parse HEAD) == "$commit"* ]] &&
        git diff --quiet HEAD -- Cargo.toml Cargo.lock build.rs src crates schemas
}

if [ -n "${HEADGATE_PROGRAM:-}" ]; then
    echo "$HEADGATE_PROGRAM"
    exit
fi
for program in "$folder-$machine-unknown-linux-gnu/headgate" "$folder-$machine-unknown-linux-musl/headgate" \
    "$(command -v headgate)"; do
    # One without the simulated provider runs no demo.
    if [ -x "$program" ] && is_current "$program" && "$program" demo --help >/dev/null 2>&1; then
        echo "$program"
        exit
    fi
done
