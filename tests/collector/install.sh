#!/usr/bin/env bash
# Installs the OpenTelemetry collector of the tests in .clients/collector, and prints the path of its program. The
# installation is kept until the pinned version changes. Missing on a bare Debian or Ubuntu: python3, python3-venv and the library of that
# Python (libpython3.11), all of which `tests/set_up.sh test` installs.
set -euo pipefail
FOLDER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
INSTALLED=$(cd "$FOLDER/../.." && pwd)/.clients/collector
mkdir -p "$(dirname "$INSTALLED")"
# Several test processes may install at the same time.
exec 9>"$INSTALLED.lock"
flock 9
stamp=$(python3 --version; cat "$FOLDER/requirements.txt")
if [[ ! -f $INSTALLED/stamp || $(cat "$INSTALLED/stamp") != "$stamp" ]]; then
  rm -rf "$INSTALLED"
  python3 -m venv "$INSTALLED" >&2
  "$INSTALLED/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$FOLDER/requirements.txt" >&2
  chmod +x "$INSTALLED"/lib/python3*/site-packages/rotel/rotel-agent
  echo "$stamp" >"$INSTALLED/stamp"
fi
program=$(echo "$INSTALLED"/lib/python3*/site-packages/rotel/rotel-agent)
if command -v ldd >/dev/null; then
  missing=$(ldd "$program" | sed -n 's/^[[:space:]]*\(.*\) => not found$/\1/p')
  if [[ -n $missing ]]; then
    echo "the collector is linked against what this machine does not have; run tests/set_up.sh test: "$missing >&2
    exit 1
  fi
fi
echo "$program"
