#!/usr/bin/env bash
# Soaks the gateway: `tests/soak/run.sh MINUTES [OPTION…]`, mixed load with planted faults. Prints a table of requests, errors by cause
# and slopes; exit 1 if something grows, or if an error has no planted cause.
#
# HEADGATE_PROGRAM is the program to run; without it, the debug build is made and run. Options: `--rate REQUESTS_PER_SECOND` (50),
# `--sessions NUMBER` (4), `--state redis|sqlite` (redis), `--seed NUMBER` (1), `--first-port PORT` (free ports). The logs and the
# samples are in target/soak. Missing on a bare Debian or Ubuntu:
#
#   apt-get update && apt-get install -y --no-install-recommends python3 redis-server
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ ! ${1:-} =~ ^[0-9]+([.][0-9]+)?$ ]]; then
  echo "usage: tests/soak/run.sh MINUTES [OPTION…]" >&2
  exit 2
fi
for needed in python3 redis-server; do
  command -v "$needed" >/dev/null || { echo "soak cannot run, missing: $needed" >&2; exit 2; }
done
if [[ -z ${HEADGATE_PROGRAM:-} ]]; then
  cargo build --quiet --locked --bin headgate
  HEADGATE_PROGRAM=${CARGO_TARGET_DIR:-target}/debug/headgate
fi
exec python3 -B tests/soak/main.py "$@" --program "$(realpath "$HEADGATE_PROGRAM")"
