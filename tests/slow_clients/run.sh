#!/usr/bin/env bash
# Attacks the gateway with slowhttptest in its four modes, while a healthy caller goes on:
#
#   tests/slow_clients/run.sh [--connections NUMBER] [headers|body|read|range …]
#
# The gateway has the shipped routes.yaml, a simulated provider, and free ports of the loopback address. Each mode has 1000 connections; all
# modes run by default. Prints a row for each: connections, how many the gateway ended, replies of the healthy caller and their times, growth
# of memory, descriptors. Exit 1 if a reply fails, if memory or descriptors grow beyond their limits, or if slow connections stay open.
# HEADGATE_PROGRAM is the program to run; without it, the debug build is made and run. Takes four minutes. Missing on a bare Debian or Ubuntu:
#
#   apt-get update && apt-get install -y --no-install-recommends python3 slowhttptest
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

for needed in python3 slowhttptest; do
  command -v "$needed" >/dev/null || { echo "slow clients cannot run, missing: $needed" >&2; exit 2; }
done
if [[ -z ${HEADGATE_PROGRAM:-} ]]; then
  cargo build --quiet --locked --bin headgate
  HEADGATE_PROGRAM=${CARGO_TARGET_DIR:-target}/debug/headgate
fi
exec python3 -B tests/slow_clients/main.py --program "$(realpath "$HEADGATE_PROGRAM")" "$@"
