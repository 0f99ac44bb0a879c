#!/usr/bin/env bash
# Counts instructions per request and compares them with budget.txt: `make budget`, which also counts what requests miss in
# caches. `--report FILE` also writes them into a report, `--translation FILE` the instructions of translations. With the path of
# `headgate-budget` as the first argument it builds nothing, and counts instructions alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
# valgrind is not available on macOS.
if [ "$(uname)" != Linux ]; then
    echo "not run: callgrind counts on Linux only"
    echo "0 passed, 0 failed"
    exit
fi
case ${1:-} in
    "" | --report | --translation) ;;
    *) program=$1; shift; exec "$program" benches/budget/budget.txt "$@" ;;
esac
program=$(cargo build --profile ci --locked --workspace --exclude headgate-benches --bins --examples \
    --message-format=json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\/headgate-budget\)".*/\1/p')
if [ "${1:-}" != --translation ]; then
    "$program" --misses "${@:2}"
fi
exec "$program" benches/budget/budget.txt "$@"
