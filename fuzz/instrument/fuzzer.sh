#!/usr/bin/env bash
# The compiler of the workspace for the fuzzer, as cargo calls it: instruments the crates of this repository, and not what
# only the build runs.
set -euo pipefail
case " $* " in
    *" --crate-name build_script_"*) exec "$@" ;;
esac
exec "$@" -C debuginfo=line-tables-only -C strip=none -C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=4 \
    -C llvm-args=-sanitizer-coverage-inline-8bit-counters -C llvm-args=-sanitizer-coverage-pc-table \
    -C llvm-args=-sanitizer-coverage-trace-compares
