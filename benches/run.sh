#!/usr/bin/env bash
# Measures headgate, a bare Pingora proxy, and nginx if it is installed, side by side and as packages contain them, and
# writes the figures into docs/benchmarks.md: `make bench`, or `make bench ARGS=0.2` for a short run that writes nothing,
# `make bench ARGS=hot` for the steps of the hot path, `make bench ARGS=mask` for the instructions per event of the search
# for secrets, `make bench ARGS=plugins` for what plugins cost (both with valgrind).
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" = hot ]; then
  exec cargo bench --locked -p headgate-benches
fi
if [ "${1:-}" = mask ]; then
  cargo build --release --locked -p headgate-benches --bin mask-cost
  count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/mask-cost "$@" 2>&1 | awk '/Collected/ {print $4}'
  }
  target/release/mask-cost | while read -r case name; do
    echo "$name: $((($(count "$case" 20000) - $(count "$case" 10000)) / 10000)) instructions an event"
  done
  exit
fi
if [ "${1:-}" = plugins ]; then
  exec benches/plugins.sh
fi
cargo build --profile dist --locked --bin headgate
cargo build --profile dist --locked -p bare-pingora
cargo build --release --locked -p headgate-benches --bin measure
measure=(target/release/measure --programs target/dist)
if [ $# -gt 0 ]; then
  exec "${measure[@]}" "$@"
fi
"${measure[@]}" --report docs/benchmarks.md
exec benches/budget/run.sh --report docs/benchmarks.md
