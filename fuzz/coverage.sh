#!/usr/bin/env bash
# Prints what inputs reach of the sources under test: `coverage.sh [TARGET]`, by default for all targets. Replays the corpus of
# fuzz/corpus and the inputs that `run.sh` has found. Needs llvm-profdata and llvm-cov of the compiler's LLVM. Prints a table:
# lines, branches, which are the outcomes of conditions, and regions, which are the parts between branches and between arms of
# `match`; tests do not count.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=${1:-}
folder=target/fuzz/coverage
replay=${CARGO_TARGET_DIR:-target}/ci/replay
host=$(rustc -vV | sed -n 's/^host: //p')
llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')

# tool NAME: the program of the compiler's LLVM. One of another LLVM cannot read what the compiler writes.
tool() {
    local program
    for program in "$(rustc --print sysroot)/lib/rustlib/$host/bin/$1" "$1-$llvm" "$1"; do
        if "$program" --version 2>/dev/null | grep -q "LLVM version $llvm\."; then
            echo "$program"
            return
        fi
    done
    echo "coverage.sh: $1 of LLVM $llvm is missing; run: rustup component add llvm-tools, or: apt-get install llvm-$llvm" >&2
    exit 1
}

merge=$(tool llvm-profdata)
report=$(tool llvm-cov)
RUSTC_WORKSPACE_WRAPPER=$PWD/fuzz/instrument/coverage.sh LLVM_PROFILE_FILE=/dev/null cargo build --profile ci --locked \
    --workspace --exclude headgate-benches --features headgate-fuzz/programs --bin replay --examples \
    --config profile.ci.opt-level=0
mkdir -p "$folder"

# files_under PATHS…: the source files of a target, without tests.
files_under() {
    find "$@" -name '*.rs' -not -path '*/tests/*' -not -name tests.rs | sort
}

# measure TARGET SOURCES…
measure() {
    local name=$1 found=()
    shift
    [ -d "target/fuzz/$name" ] && found=("target/fuzz/$name")
    LLVM_PROFILE_FILE=$PWD/$folder/$name.profraw "$replay" "$name" "fuzz/corpus/$name" ${found[@]+"${found[@]}"} >/dev/null
    "$merge" merge --sparse -o "$folder/$name.profdata" "$folder/$name.profraw"
    rm "$folder/$name.profraw"
    local sources
    mapfile -t sources < <(files_under "$@")
    "$report" report "$replay" -instr-profile="$folder/$name.profdata" "${sources[@]}" >"$folder/$name.txt"
    # The columns of the last line: regions, functions, lines, branches, each with its count, the missed ones and a percentage.
    awk -v name="$name" \
        '/^TOTAL/ { print "| " name " | " $8 " | " $10 " | " $11 " | " $13 " | " $2 " | " $4 " |" }' "$folder/$name.txt"
}

printf '| target | lines | reached | branches | reached | regions | reached |\n|-|-|-|-|-|-|-|\n'
"$replay" | while read -r name sources; do
    # shellcheck disable=SC2086  # sources are paths, separated by spaces
    if [ -z "$wanted" ] || [ "$wanted" = "$name" ]; then measure "$name" $sources; fi
done
