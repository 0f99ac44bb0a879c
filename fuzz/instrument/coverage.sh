#!/usr/bin/env bash
# The compiler of the workspace for coverage, as cargo calls it: counts the regions of the crates of this repository, and not
# of what only the build runs.
set -euo pipefail
case " $* " in
    *" --crate-name build_script_"*) exec "$@" ;;
esac
exec "$@" -C debuginfo=line-tables-only -C strip=none -C instrument-coverage
