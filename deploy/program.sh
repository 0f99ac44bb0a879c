#!/usr/bin/env bash
# Prints the path of a built program of this version, if one is at hand: that in HEADGATE_PROGRAM, one that `make release` has unpacked
# for this machine, or an installed one. Prints nothing otherwise.
cd "$(dirname "$0")/.." || exit 1
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
folder=target/archives/headgate-$version
machine=$(uname -m)
for program in "${HEADGATE_PROGRAM:-}" "$folder-$machine-unknown-linux-gnu/headgate" "$folder-$machine-unknown-linux-musl/headgate" \
    "$(command -v headgate)"; do
    # One without the simulated provider runs no demo.
    if [ -x "$program" ] && [[ $("$program" --version 2>/dev/null) == "headgate $version"* ]] &&
        "$program" demo --help >/dev/null 2>&1; then
        echo "$program"
        exit
    fi
done
