#!/usr/bin/env bash
# Counts instructions per request and compares them with budget.txt: `make budget`. `--report FILE` also writes them into
# a report, `--translation FILE` those of translations. With the path of `headgate-budget` as the first argument it builds nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
# valgrind is not available on macOS.
if [ "$(uname)" != Linux ]; then
    echo "not run: callgrind counts on Linux only"
    echo "0 passed, 0 failed"
    exit
fi
if [ $# = 0 ] || [ "$1" = --report ] || [ "$1" = --translation ]; then
    program=$(cargo build --profile ci --locked --workspace --exclude headgate-benches --bins --examples \
        --message-format=json-render-diagnostics |
        sed -n 's/.*"executable":"\([^"]*\/headgate-budget\)".*/\1/p')
else
    program=$1
    shift
fi
exec "$program" benches/budget/budget.txt "$@"
