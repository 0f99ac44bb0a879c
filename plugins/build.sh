#!/usr/bin/env bash
# Builds the plugins to plugins/built. `build.sh NAME…` builds some of them. Installs nothing but the packages of npm;
# `make plugins` installs the toolchains.
set -euo pipefail
cd "$(dirname "$0")"
# A node that was installed for the tests precedes the machine's own.
export PATH="$PWD/../.clients/node/node_modules/.bin:$PATH"

rust() {
    cargo build --quiet --locked --release --target wasm32-unknown-unknown --package "$1"
    cp "target/wasm32-unknown-unknown/release/$1.wasm" "built/$1.wasm"
}

redact() { rust redact; }

prompt_policy() { rust prompt_policy; }

annotate() {
    cd annotate
    # Up to date if npm has written its own lock after ours.
    if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
        npm ci --no-audit --no-fund --loglevel=error </dev/null
    fi
    node_modules/.bin/asc --config asconfig.json
    cp build/annotate.wasm ../built/annotate.wasm
}

# `--stack-first` puts the stack at the start of the memory, where an overflow traps.
minimal() {
    "${CLANG:-clang}" --target=wasm32 -std=c11 -Wall -Wextra -Werror -Os -nostdlib \
        -Wl,--no-entry -Wl,--stack-first -Wl,-z,stack-size=4096 -Wl,--strip-all \
        -o built/minimal.wasm minimal/minimal.c
}

plugins=("$@")
if [ $# = 0 ]; then plugins=(redact prompt_policy annotate minimal); fi
mkdir -p built
for plugin in "${plugins[@]}"; do
    case $plugin in
        redact | prompt_policy | annotate | minimal) ;;
        *) echo "build.sh: no plugin $plugin; there are redact, prompt_policy, annotate and minimal" >&2; exit 2 ;;
    esac
    # In a shell of its own, since a build may change the folder.
    (set -e; "$plugin")
    printf '%-14s %7d bytes\n' "$plugin" "$(wc -c <"built/$plugin.wasm")"
done
