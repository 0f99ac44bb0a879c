#!/usr/bin/env bash
# Measures headgate beside a bare Pingora proxy: `make bench`, or `make bench ARGS=0.2` for a short run,
# `make bench ARGS=hot` for the single steps of the hot path.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = hot ]; then
  exec cargo bench --locked -p headgate-benches
fi
cargo build --release --locked --bin headgate
cargo build --release --locked -p headgate-benches --bins
exec target/release/measure "$@"
