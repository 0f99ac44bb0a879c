#!/usr/bin/env bash
# The test command. Runs all stages, even if one fails, and ends with two lines: the tests that failed at first and
# passed when run alone, and `N passed, N failed`. The exit code is 1 if anything failed, or if more than three tests
# passed only when run alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export CARGO_TERM_COLOR=never
# Each stage compiles once, so that the files for the next compilation would only fill the disk.
export CARGO_INCREMENTAL=0
. tests/counting.sh

passed=0
failed=0
demo=""
folder=$(mktemp -d)
log=$folder/stage.log
failures_file=$folder/failures
second_chances=$folder/second_chances
: >"$failures_file"
: >"$second_chances"

clean_up() {
    if [ -n "$demo" ]; then
        kill "$demo" 2>/dev/null
        wait "$demo" 2>/dev/null
    fi
    rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# stage NAME COUNT COMMAND…: runs a command, passes its log and exit code to COUNT, which prints `passed failed`, and
# prints the failures.
stage() {
    local name=$1 count=$2 started=$SECONDS code counted
    shift 2
    printf '%-10s' "$name"
    "$@" >"$log" 2>&1 </dev/null
    code=$?
    counted=$("$count" "$code")
    set -- $counted
    # A stage that fails without a failed test counts as one failure.
    if [ "$code" != 0 ] && [ "$2" = 0 ]; then set -- "$1" 1; fi
    passed=$((passed + $1))
    failed=$((failed + $2))
    printf '%5s passed %3s failed %5ss\n' "$1" "$2" "$((SECONDS - started))"
    if [ "$2" != 0 ]; then
        show_failure | sed 's/^/    /'
        name_failures "$name" >>"$failures_file"
    fi
}

# Prints the names of the failures, for the end of the output, where everybody sees them.
name_failures() {
    grep -E '^test .* FAILED$|^FAILED |^(not ok|failed:) ' "$log" | head -n 40
    echo "failed: $1"
}

# Prints the failures with their reasons, and the end of the log.
show_failure() {
    grep -E '^test .* FAILED$|^FAILED ' "$log" | head -n 40
    grep -A 6 -E "^thread '.*panicked at" "$log" | cut -c 1-400 | head -n 80
    echo ...
    tail -n 40 "$log"
}

# Prints the table of instructions of the last stage.
show_figures() { sed -n '/^| instructions /,/^[0-9]* passed/p' "$log" | sed '$d; s/^/    /'; }

count_one() { if [ "$1" = 0 ]; then echo 1 0; else echo 0 1; fi; }

count_nothing() { echo 0 0; }

count_log_of_cargo() { count_cargo "$log"; }

# Tests of real processes run in parallel and have real deadlines. If at most three of them fail, they run once more,
# alone; a real defect fails again. Their names are printed in any case.
run_cargo() {
    cargo test --locked --no-fail-fast && return
    local names count
    names=$(may_try_again "$log") || return 1
    count=$(echo "$names" | wc -w)
    # shellcheck disable=SC2086  # names are words
    cargo test --locked --test suite -- --exact --test-threads 1 $names >"$folder/alone.log" 2>&1
    if ! grep -q "^test result: ok. $count passed" "$folder/alone.log"; then
        cat "$folder/alone.log"
        return 1
    fi
    echo "passed alone: $count"
    echo "$names" >>"$second_chances"
}

# Prints the counts in the client suite's last line, `N passed, N failed`; without such a line it is one check.
count_suite() {
    local line
    line=$(sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
    if [ -n "$line" ]; then echo "$line"; else count_one "$1"; fi
}

# Starts the demo on free ports, without the variables that contain URLs of real providers.
start_demo() {
    program=$(cargo build --locked --message-format=json-render-diagnostics |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
    if [ -z "$program" ]; then return 1; fi
    env -u PRIMARY_URL -u SECOND_URL -u MESSAGES_URL -u IMAGES_URL -u VIDEO_A_URL -u VIDEO_B_URL \
        -u HEADGATE_DEMO_KEY_SHA256 -u HEADGATE_TASK_KEY -u HEADGATE_PUBLIC_URL -u HEADGATE_EGRESS_ALLOW \
        -u HEADGATE_WEBHOOK_SECRET -u HEADGATE_OLD_WEBHOOK_SECRET \
        "$program" demo --listen 127.0.0.1:0 --admin 127.0.0.1:0 --simulator 127.0.0.1:0 \
        >"$folder/demo.out" 2>"$folder/demo.log" </dev/null &
    demo=$!
    for _ in $(seq 100); do
        addresses=$(sed -n 's/^headgate demo: gateway \([^,]*\), admin \([^,]*\), simulated provider \([^,]*\)$/\1 \2 \3/p' \
            "$folder/demo.log")
        if [ -n "$addresses" ] && all_answer $addresses; then return; fi
        if ! kill -0 "$demo" 2>/dev/null; then break; fi
        sleep 0.1
    done
    cat "$folder/demo.log"
    return 1
}

# all_answer URLS…: whether each address accepts connections and responds with HTTP, whatever the status.
all_answer() {
    local url
    for url; do
        curl --silent --max-time 2 --output /dev/null "$url/" || return 1
    done
}

run_clients() {
    if [ -z "$addresses" ]; then
        echo "the demo did not start, so that no client could be run"
        return 1
    fi
    # shellcheck disable=SC2086  # three addresses, separated by spaces
    HEADGATE_PROGRAM=$program tests/clients/run.sh $addresses
}

run_deploy() {
    if [ -z "$program" ]; then
        echo "the gateway was not built"
        return 1
    fi
    tests/deploy/run.sh "$program"
}

run_docs() {
    if [ -z "$program" ]; then
        echo "the gateway was not built"
        return 1
    fi
    tests/docs/run.sh "$program"
}

# Prints how many blocks of the documentation were run, and which are not.
show_blocks() { sed -n '/^not run: \|^ *[0-9]* [a-z]*: /p' "$log" | sed 's/^/    /'; }

addresses=""
program=""
tests/set_up.sh test && tests/set_up.sh budget && tests/set_up.sh plugins || { echo "0 passed, 1 failed"; exit 1; }
# A node that was installed for the tests precedes the machine's own.
export PATH="$PWD/.clients/node/node_modules/.bin:$PATH"
stage fmt count_one cargo fmt --all --check
stage clippy count_one cargo clippy --all-targets --locked -- -D warnings
# Builds the gateway without the simulated provider and the commands that run it.
stage gateway count_one cargo clippy --package headgate --no-default-features --lib --bins --locked -- -D warnings
# Before the gateway's own tests, which run the modules that this stage builds.
stage plugins count_log_of_cargo plugins/test.sh
stage cargo count_log_of_cargo run_cargo
stage budget count_suite benches/budget/run.sh
show_figures
stage demo count_nothing start_demo
stage clients count_suite run_clients
stage deploy count_suite run_deploy
stage docs count_suite run_docs
show_blocks

cat "$failures_file"
verdict "$passed" "$failed" "$second_chances"
