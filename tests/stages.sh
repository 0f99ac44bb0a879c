# Runs the stages of tests/run.sh, which sources this file, in lanes: the stages of a lane run one after the other, lanes
# beside one another. A stage's output is in a file of its own; its line and its failures are printed whole when it ends.
# tests/tidy runs these functions with stages of its own.
# shellcheck shell=bash

# FOLDER has, for each stage, NAME.log (its output), NAME.report (what is printed), NAME.result (`passed failed begin
# seconds`), and LANE.over once a lane has ended. Names of ended stages come through the pipe `ends`.
FOLDER=$(mktemp -d)
SECOND_CHANCES=$FOLDER/second_chances
: >"$SECOND_CHANCES"
mkfifo "$FOLDER/ends"
exec 3<>"$FOLDER/ends"
# The process groups of all lanes.
LANES=""

trap 'rm -rf "$FOLDER"' EXIT
trap 'stop_lanes; exit 130' INT
trap 'stop_lanes; exit 143' TERM HUP

# lane NAME COMMAND…: runs a function that runs stages, beside what else runs, as a process group of its own.
lane() {
    local name=$1
    shift
    set -m
    (
        trap 'end_lane; : >"$FOLDER/'"$name"'.over"' EXIT
        trap 'exit 1' INT TERM HUP
        "$@"
    ) </dev/null &
    set +m
    LANES="$LANES $!"
}

# What a lane does at its end; a lane that starts something redefines it.
end_lane() { :; }

# Ends every process of every lane: first so that programs can end what they have started.
stop_lanes() {
    trap '' INT TERM HUP
    local signal group
    for signal in TERM KILL; do
        for group in $LANES; do kill -"$signal" -- -"$group" 2>/dev/null; done
        if [ "$signal" = TERM ]; then sleep 1; fi
    done
    wait 2>/dev/null
}

# stage NAME COUNT COMMAND…: runs a command, and passes its log and exit code to COUNT, which prints `passed failed`.
stage() {
    local name=$1 count=$2 begin=$SECONDS log=$FOLDER/$1.log code counted
    shift 2
    "$@" >"$log" 2>&1
    code=$?
    counted=$("$count" "$code" "$log")
    # shellcheck disable=SC2086  # two numbers
    set -- $counted
    # A stage that fails without a failed test counts as one failure.
    if [ "$code" != 0 ] && [ "$2" = 0 ]; then set -- "$1" 1; fi
    {
        printf '%-10s %5s passed %3s failed %5ss\n' "$name" "$1" "$2" "$((SECONDS - begin))"
        if [ "$2" != 0 ]; then show_failure "$log" | sed 's/^/    /'; fi
        if declare -F "show_$name" >/dev/null; then "show_$name" "$log" | sed 's/^/    /'; fi
    } >"$FOLDER/$name.report"
    if [ "$2" != 0 ]; then name_failures "$name" "$log" >"$FOLDER/$name.failures"; fi
    echo "$1 $2 $begin $((SECONDS - begin))" >"$FOLDER/$name.result"
    echo "$name" >&3
    [ "$2" = 0 ]
}

# after LANE STAGE: waits until the stage has ended; fails if it has failed, or its lane has ended without it.
after() {
    local passed failed
    until [ -e "$FOLDER/$2.result" ] || [ -e "$FOLDER/$1.over" ]; do sleep 0.2; done
    read -r passed failed _ <"$FOLDER/$2.result" && [ "$failed" = 0 ]
} 2>/dev/null

# Prints the report of each stage as it ends, until all lanes have ended.
report_stages() {
    local name
    while :; do
        if read -r -t 1 name <&3; then
            cat "$FOLDER/$name.report"
        elif ! is_running; then
            return
        fi
    done
}

# Whether a lane runs.
is_running() {
    local group
    for group in $LANES; do
        if kill -0 "$group" 2>/dev/null; then return 0; fi
    done
    return 1
}

# summary STAGES…: prints the names of all failures and the table of the stages, and the verdict. A stage that was never
# run has failed.
summary() {
    local name passed=0 failed=0 p f begin seconds
    cat "$FOLDER"/*.failures 2>/dev/null
    echo "stage      begins after      takes"
    for name; do
        if [ ! -e "$FOLDER/$name.result" ]; then
            echo "failed: $name was not run"
            failed=$((failed + 1))
            continue
        fi
        read -r p f begin seconds <"$FOLDER/$name.result"
        passed=$((passed + p))
        failed=$((failed + f))
        printf '%-10s %11ss %9ss\n' "$name" "$begin" "$seconds"
    done
    printf '%-10s %12s %9ss\n' all "" "$SECONDS"
    verdict "$passed" "$failed" "$SECOND_CHANCES"
}

# Prints the names of the failures, for the end of the output, where everybody sees them.
name_failures() {
    grep -E '^test .* FAILED$|^FAILED |^(not ok|failed:) ' "$2" | head -n 40
    echo "failed: $1"
}

# Prints the failures with their reasons, and the end of the log.
show_failure() {
    grep -E '^test .* FAILED$|^FAILED ' "$1" | head -n 40
    grep -A 6 -E "^thread '.*panicked at" "$1" | cut -c 1-400 | head -n 80
    echo ...
    tail -n 40 "$1"
}

count_one() { if [ "$1" = 0 ]; then echo 1 0; else echo 0 1; fi; }

count_nothing() { echo 0 0; }

# Prints the counts in the last line `N passed, N failed`; without such a line it is one check.
count_suite() {
    local line
    line=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p' "$2" | tail -n 1)
    if [ -n "$line" ]; then echo "$line"; else count_one "$1"; fi
}

count_log_of_cargo() { count_cargo "$2"; }
