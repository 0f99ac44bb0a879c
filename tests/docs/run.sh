#!/usr/bin/env bash
# Runs the documentation: `tests/docs/run.sh PROGRAM [PAGE…]`, where PROGRAM is a built headgate; without pages, README.md
# and everything below docs. Every fenced block is checked or run by its language, see tests/docs/main.py. Prints the
# counts, then `N passed, N failed`. The SDKs of the examples are those of the client suite, in .clients.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:?usage: tests/docs/run.sh PROGRAM [PAGE…]}")
shift
tests/clients/run.sh --install
HEADGATE_PROGRAM=$program exec .clients/python/bin/python -B tests/docs/main.py "$@"
