#!/usr/bin/env bash
# Builds Headgate in `src` beside this file, once and before anything is measured: the harness of the public benchmark runs
# this script and then the program that definition.json names. HEADGATE_REPOSITORY is the address or the folder of a clone
# of Headgate, HEADGATE_COMMIT what is measured in place of the commit below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
repository=${HEADGATE_REPOSITORY:?is not set: the address or the folder of a clone of Headgate}
# A commit and not a branch, so that two runs weeks apart measure the same program.
commit=${HEADGATE_COMMIT:-6db4762c0f37524c144598a44cae45b2c1578a6e}

if [ ! -d src ]; then git clone --quiet "$repository" src; fi
# A folder of an earlier run has its own commit checked out.
git -C src fetch --quiet origin
git -C src checkout --quiet --detach "$commit"
cd src
tests/set_up.sh build
# The profile of packages and images.
cargo build --profile dist --locked --bin headgate
echo "build: $(target/dist/headgate --version)"
