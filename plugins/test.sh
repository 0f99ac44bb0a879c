#!/usr/bin/env bash
# Builds the plugins, and runs the unit tests and the linter of the Rust ones.
set -euo pipefail
cd "$(dirname "$0")"
./build.sh
cargo fmt --all --check
cargo clippy --quiet --locked --all-targets -- -D warnings
cargo clippy --quiet --locked --target wasm32-unknown-unknown -- -D warnings
cargo test --quiet --locked
