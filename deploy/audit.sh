#!/usr/bin/env bash
# Checks what the program depends on by the rules of deny.toml: `make audit`. Licences, sources and banned crates are checked offline;
# known vulnerabilities, if the database of advisories is on this machine or can be fetched. Each part that is left out is named.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
if ! cargo deny --version >/dev/null 2>&1; then
    echo "audit: skipped: cargo-deny is not installed; run: cargo install --locked cargo-deny"
    exit
fi
code=0
cargo deny --offline check bans licenses sources || code=1
if cargo deny fetch db >/dev/null 2>&1 || cargo deny --offline check advisories >/dev/null 2>&1; then
    cargo deny --offline check advisories || code=1
else
    echo "audit: advisories skipped: the database is neither on this machine nor to be fetched"
fi
exit "$code"
