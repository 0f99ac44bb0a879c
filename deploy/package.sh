#!/usr/bin/env bash
# Makes the Debian package of a built program: `deploy/package.sh [PROGRAM] [OPTIONS OF CARGO DEB]`. The default program is
# target/dist/headgate. The manual pages and the completions are those that the program prints.
set -euo pipefail
cd "$(dirname "$0")/.."
program=target/dist/headgate
if [ -x "${1-}" ]; then
    program=$1
    shift
else
    set -- --profile dist "$@"
fi
pages=target/package
rm -rf "$pages"
mkdir -p "$pages/man" "$pages/completions"
"$program" man --to "$pages/man"
for shell in bash fish zsh; do
    "$program" completions "$shell" >"$pages/completions/$shell"
done
cargo deb --no-build "$@"
