#!/usr/bin/env bash
# Counts instructions per request and compares them with budget.txt: `make budget`. `--report FILE` also writes them into
# a report. `--build` only builds what is measured.
set -euo pipefail
cd "$(dirname "$0")/../.."
# valgrind is not available on macOS.
if [ "$(uname)" != Linux ]; then
    echo "not run: callgrind counts on Linux only"
    echo "0 passed, 0 failed"
    exit
fi
program=$(cargo build --profile budget --locked --no-default-features --features headgate/otlp -p headgate -p headgate-budget -p bare-pingora --bins \
    --message-format=json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\/headgate-budget\)".*/\1/p')
if [ "${1:-}" = --build ]; then exit; fi
exec "$program" benches/budget/budget.txt "$@"
