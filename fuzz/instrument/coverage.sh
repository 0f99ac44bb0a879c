#!/usr/bin/env bash
# The compiler of the workspace for coverage, as cargo calls it: counts the regions and branches of the crates of this
# repository, and not of what only the build runs.
set -euo pipefail
# The stable compiler counts branches only if it takes the options of a nightly one. Nobody runs this build but `coverage.sh`.
export RUSTC_BOOTSTRAP=1
case " $* " in
    *" --crate-name build_script_"*) exec "$@" ;;
esac
exec "$@" -C debuginfo=line-tables-only -C strip=none -C instrument-coverage \
    -Z coverage-options=branch
