#!/usr/bin/env bash
# Plants the faults of this folder and shows that the fuzz target of each finds it within a minute: `run.sh [FAULT…]`, or all without a
# name.
#
# A fault is a patch, and is active while the variable HEADGATE_FAULT has its name. So all are applied to one copy of the sources, which
# is built once, with libFuzzer. First each target must pass its corpus while no fault is active. Then, for each fault, its target
# runs from its corpus until it fails. Prints a line for each fault, with the seconds until then, and `N of N found`; the exit code is
# 1 if one is missed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/faults/plant.sh
export CARGO_TERM_COLOR=never
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
work=$PWD/target/fuzz/faults
tree=$work/tree
engine=$work/fuzz
# Seconds that a target may take.
patience=60

# rows: the rows `FAULT TARGET WHAT` of the table.
rows() { sed -e '/^#/d' -e '/^$/d' -e 's/ *| */ /g' fuzz/faults/faults.txt; }

# run_target TARGET OPTION…: runs a target from its corpus; what it finds is not kept.
run_target() {
    local name=$1 found
    shift
    found=$(mktemp -d "$work/found.XXXXXX")
    HEADGATE_FUZZ_TARGET=$name "$engine" "$found" "fuzz/corpus/$name" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
        -use_value_profile=1 -dict=fuzz/dictionary.txt -artifact_prefix="$found/" "$@"
    local code=$?
    rm -rf "$found"
    return "$code"
}

# try_fault FAULT TARGET WHAT…: plants one fault and prints its line: found, or missed.
try_fault() {
    local began=$EPOCHREALTIME log=$work/$1.log result=missed
    if ! run_target "$2" -runs=0 >"$log" 2>&1; then
        result='fails without the fault'
    else
        began=$EPOCHREALTIME
        HEADGATE_FAULT=$1 run_target "$2" -max_total_time="$patience" >"$log" 2>&1
        # A machine that is too busy ends a target as well, without a panic.
        grep -q 'panicked at' "$log" && result=found
    fi
    awk -v began="$began" -v ended="$EPOCHREALTIME" -v result="$result" -v name="$1" -v target="$2" -v what="${*:3}" \
        'BEGIN { printf "%-7s %-32s %-21s %5.1f s  %s\n", result, name, target, ended - began, what }'
}

mkdir -p "$work"
rows >"$work/rows"
choose "$work/rows" "$@" || exit
plant "$tree" "$PWD"/fuzz/faults/*.patch || { echo "the faults cannot be planted: a patch does not apply"; exit 1; }
(cd "$tree" && RUSTC_WORKSPACE_WRAPPER=$tree/fuzz/instrument/fuzzer.sh cargo build --quiet --profile ci --locked --workspace \
    --exclude headgate-benches --features headgate-fuzz/programs --bin fuzz --examples --config profile.ci.opt-level=1 \
    --config profile.ci.debug-assertions=true --config profile.ci.overflow-checks=true) ||
    { echo "the sources with the faults do not compile"; exit 1; }
cp "$CARGO_TARGET_DIR/ci/fuzz" "$engine"
export -f try_fault run_target
export work engine patience
xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 bash -c 'try_fault "$@"' _ <"$work/rows" | tee "$work/results"
found=$(grep -c '^found' "$work/results")
all=$(grep -c . "$work/rows")
echo "$found of $all found"
[ "$found" = "$all" ]
