#!/usr/bin/env bash
# Measures what plugins cost, as processor time and as instructions, beside the same routes without: `make bench
# ARGS=plugins`. The plugin on headers is what `headgate plugin new` makes, the one on bodies is `redact`.
set -euo pipefail
cd "$(dirname "$0")/.."
plugins/build.sh redact
cargo build --release --locked --bin headgate
cargo build --release --locked -p headgate-benches -p bare-pingora --bins
modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
cp plugins/built/redact.wasm "$modules"
(
  cd "$modules"
  "$OLDPWD/target/release/headgate" plugin new header --language rust >/dev/null
  sh header/build.sh
  mv header/header.wasm .
)
target/release/measure --plugins "$modules"
cargo build --profile ci --locked --workspace --exclude headgate-benches --bins --examples
target/ci/headgate-budget benches/budget/budget.txt --plugins "$modules"
