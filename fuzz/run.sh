#!/usr/bin/env bash
# Runs fuzz targets under libFuzzer, on the stable toolchain: `run.sh [TARGET [SECONDS]]`, by default all targets for 60
# seconds each, one after the other. Inputs that reach new code go to target/fuzz/TARGET, inputs that fail to
# target/fuzz/failures. Ends with a table: executions, executions a second, edges that are reached, inputs, failures.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=${1:-}
seconds=${2:-60}
found=target/fuzz
engine=${CARGO_TARGET_DIR:-target}/ci/fuzz

# Optimised a little: a build takes a fraction of the time, and a target runs at most half as fast. All checks are on.
RUSTC_WORKSPACE_WRAPPER=$PWD/fuzz/instrument/fuzzer.sh cargo build --profile ci --locked --workspace \
    --exclude headgate-benches --features headgate-fuzz/programs --bin fuzz --examples \
    --config profile.ci.opt-level=1 --config profile.ci.debug-assertions=true --config profile.ci.overflow-checks=true

# figure NAME LOG: a figure of those that libFuzzer prints at its end.
figure() { sed -n "s/^stat::$1: *//p" "$2" | tail -n 1; }

fuzz() {
    local name=$1 log=$found/$1.log failures
    mkdir -p "$found/$name" "$found/failures"
    # An input of more than 4 KiB finds little that a shorter one does not, and is slower.
    HEADGATE_FUZZ_TARGET=$name "$engine" "$found/$name" "fuzz/corpus/$name" -max_total_time="$seconds" -max_len=4096 \
        -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -use_value_profile=1 -dict=fuzz/dictionary.txt \
        -artifact_prefix="$found/failures/$name-" >"$log" 2>&1 || true
    failures=$(find "$found/failures" -name "$name-*" | wc -l)
    printf '| %s | %s | %s | %s | %s | %s |\n' "$name" "$(figure number_of_executed_units "$log")" \
        "$(figure average_exec_per_sec "$log")" "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" \
        "$(find "$found/$name" -type f | wc -l)" "$failures"
    [ "$failures" = 0 ] || { failed=1; grep -m 1 -A 8 "panicked at\|^==.*ERROR" "$log" || true; }
}

failed=0
printf '| target | executions | a second | edges | inputs | failures |\n|-|-|-|-|-|-|\n'
for folder in fuzz/corpus/*/; do
    name=$(basename "$folder")
    if [ -z "$wanted" ] || [ "$wanted" = "$name" ]; then fuzz "$name"; fi
done
exit $failed
