#!/usr/bin/env bash
# Plants the faults of this folder and shows that a test fails for each: `run.sh [FAULT…]`, or all without a name.
#
# A fault is a patch, and is active while the variable HEADGATE_FAULT has its name. So all are applied to one copy of the
# sources, which is built once; the repository itself has none. First all tests must pass while no fault is active. Then,
# for each fault, its test must fail. The tables *.txt name the test of each fault and what it shows, by the rows of
# docs/reliability.md. Prints a line for each fault, then `N of N caught`; the exit code is 1 if one is missed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/faults/plant.sh
export CARGO_TERM_COLOR=never
root=$PWD
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
work=$root/target/faults
tree=$work/tree
# The program with the faults, beside the one of tests/run.sh.
program=$CARGO_TARGET_DIR/ci/programs/headgate-faults
# Tests wait for most of their time.
threads=$((4 * $(getconf _NPROCESSORS_ONLN)))
# Seconds that a test may take; one that hangs has failed.
patience=600

# rows: the rows `FAULT LINES TEST` of all tables.
rows() { sed -e '/^#/d' -e '/^$/d' -e 's/ *| */ /g' tests/faults/*.txt; }

# Compiles the tests as tests/run.sh does, beside the same dependencies, but without Clippy.
build() {
    (cd "$tree" && HEADGATE_PROGRAM=$program cargo test --profile ci --locked --workspace --exclude headgate-benches \
        --config profile.ci.opt-level=0 --config profile.ci.debug-assertions=true \
        --config profile.ci.overflow-checks=true --no-run --lib --test simulation --test suite) 2>&1 | tee "$work/build.log" |
        grep -E '^(error|warning: unused)|^ *--> ' 
    [ "${PIPESTATUS[0]}" = 0 ] || return
    ln -f "$CARGO_TARGET_DIR/ci/headgate" "$program"
}

# binary NAME: the program of the tests `suite` or `simulation`, or of the unit tests of a crate.
binary() { sed -n "s,^ *Executable .*(\(.*/$1-[0-9a-f]*\))$,\1,p" "$work/build.log"; }

# run_tests NAME FILTER…: runs the tests of a program whose names contain a filter.
run_tests() {
    local tests folder=$tree
    tests=$(binary "$1")
    case $1 in headgate_*) folder=$tree/crates/${1#headgate_} ;; esac
    shift
    cd "$folder" && timeout "$patience" "$tests" --show-output --test-threads "$threads" "$@"
}

# Runs the tests of all rows while no fault is active; those that fail run once more, alone.
pass_without_faults() {
    local name filters log code=0
    for name in $(awk '{ sub("::.*", "", $3); print $3 }' "$work/rows" | sort -u); do
        filters=$(awk -v name="$name::" 'index($3, name) == 1 { print substr($3, length(name) + 1) }' "$work/rows" | sort -u)
        log=$work/logs/none.$name
        # shellcheck disable=SC2086  # filters are words
        (run_tests "$name" $filters) >"$log" 2>&1 && grep -q '^test result: ok. [1-9]' "$log" && continue
        # shellcheck disable=SC2046  # names are words
        (threads=1 run_tests "$name" --exact $(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log")) \
            >"$log.alone" 2>&1 && grep -q '^test result: ok. [1-9]' "$log.alone" && continue
        echo "without a fault, tests of $name fail; see $log"
        grep '\.\.\. FAILED$' "$log.alone"
        code=1
    done
    return "$code"
}

# try_fault FAULT LINES TEST: plants one fault and prints its line: caught, or missed.
try_fault() {
    local began=$SECONDS log=$work/logs/$1 code result=missed
    (HEADGATE_FAULT=$1 run_tests "${3%%::*}" "${3#*::}") >"$log" 2>&1
    code=$?
    if grep -q '^test result: FAILED' "$log" || [ "$code" = 124 ]; then result=caught; fi
    printf '%-7s %-34s %-7s %4d s  %s\n' "$result" "$1" "$2" $((SECONDS - began)) "$3"
}

mkdir -p "$work/logs" "${program%/*}" && rows >"$work/rows"
choose "$work/rows" "$@" || exit
plant "$tree" "$root"/tests/faults/*.patch || { echo "the faults cannot be planted: a patch does not apply"; exit 1; }
build || { echo "the sources with the faults do not compile"; exit 1; }
pass_without_faults || exit 1
export -f try_fault run_tests binary
export work tree patience threads
xargs -P "$(getconf _NPROCESSORS_ONLN)" -L 1 bash -c 'try_fault "$@"' _ <"$work/rows" | tee "$work/results"
caught=$(grep -c '^caught' "$work/results")
all=$(grep -c . "$work/rows")
echo "$caught of $all caught"
[ "$caught" = "$all" ]
