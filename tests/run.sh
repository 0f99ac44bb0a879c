#!/usr/bin/env bash
# The test command: `tests/run.sh [STAGE…]`. Runs all stages, or those that are named with what they need, even if one
# fails. It ends with a table of what each has taken and two lines: the tests that failed at first and passed when run
# alone, and `N passed, N failed`. The exit code is 1 if anything failed, or if more than three tests passed only when run
# alone.
#
# Three lanes: `tools` waits for downloads, `source` compiles, `program` runs clients and checks against the built program
# while `source` goes on. Every dependency of gateway and tests is compiled once: all that cargo does is done for the same
# packages, so that features are the same, and in the profile `ci`. So is the proxy that `budget` compares with.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export CARGO_TERM_COLOR=never
# Each stage compiles once, so that the files for the next compilation would only fill the disk.
export CARGO_INCREMENTAL=0
# A node that was installed for the tests precedes the machine's own.
export PATH="$PWD/.clients/node/node_modules/.bin:$PATH"
. tests/counting.sh
. tests/stages.sh

STAGES="fmt audit build set-up plugins gateway compile clippy cargo budget demo clients deploy docs"
target=${CARGO_TARGET_DIR:-target}
programs=$(mkdir -p "$target/ci/programs" && cd "$target/ci/programs" && pwd)
program=$programs/headgate
packages=(--profile ci --locked --workspace --exclude headgate-benches)
# Tests, and our crates in them, are compiled without the optimiser and with all checks, beside the same dependencies.
checks=(--config profile.ci.opt-level=0 --config profile.ci.debug-assertions=true
    --config profile.ci.overflow-checks=true)
# Tests wait for most of their time.
threads=$((4 * $(getconf _NPROCESSORS_ONLN)))

wanted=" $* "
if [ $# = 0 ]; then wanted=" $STAGES "; fi
for name; do
    case " $STAGES " in
        *" $name "*) ;;
        *) echo "usage: $0 [STAGE…], where the stages are: $STAGES" >&2; exit 2 ;;
    esac
    case $name in
        cargo) wanted="$wanted build set-up plugins compile " ;;
        clippy) wanted="$wanted compile " ;;
        budget) wanted="$wanted build set-up " ;;
        clients) wanted="$wanted build set-up demo " ;;
        deploy | docs) wanted="$wanted build set-up " ;;
        demo) wanted="$wanted build " ;;
        plugins) wanted="$wanted set-up " ;;
    esac
done

# run STAGE COUNT COMMAND…: runs the stage if it is wanted.
run() {
    case $wanted in *" $1 "*) stage "$@" ;; esac
}

# after_wanted LANE STAGE: waits for the stage if it is wanted.
after_wanted() {
    case $wanted in *" $2 "*) after "$@" ;; esac
}

# Installs what no compilation needs, and the packages that tests use.
set_up() {
    tests/set_up.sh test budget plugins &&
        tests/clients/run.sh --install &&
        tests/deploy/run.sh --install &&
        tests/collector/install.sh &&
        tests/s3/install.sh
}

# checked COMMAND ARGUMENTS…: a command of cargo for tests, with Clippy as the compiler: a second reading of every crate,
# and of every dependency, would take as long as the tests.
checked() {
    HEADGATE_PROGRAM=$program RUSTC_WORKSPACE_WRAPPER=clippy-driver nice -n "$niceness" cargo "$1" "${packages[@]}" "${checks[@]}" "${@:2}"
}

# The programs that are run: optimised, and linked under names that later builds leave alone. `--examples` (there are none)
# counts the dependencies of tests among its own, so that they have one set of features.
build() {
    cargo build "${packages[@]}" --bins --examples || return
    local built
    for built in headgate headgate-budget bare-pingora; do ln -f "$target/ci/$built" "$programs/$built" || return; done
}

compile() { checked test --no-run --lib --test tidy --test simulation --test suite; }

# no_warnings STAGE: fails if the compiler had one, and prints all.
no_warnings() {
    grep -qE 'generated [0-9]+ warning' "$FOLDER/$1.log" || return 0
    grep -A 12 '^warning: ' "$FOLDER/$1.log"
    return 1
}

# The gateway without the simulated provider and the commands that run it.
gateway() { checked build --no-default-features --lib --bin headgate --examples && no_warnings gateway; }

# Tests of real processes run in parallel and have real deadlines. If at most three of them fail, they run once more,
# alone; a real defect fails again. Their names are printed in any case.
run_cargo() {
    local code=0 names count
    checked test --no-fail-fast --lib --test tidy --test simulation || code=1
    checked test --test suite -- --test-threads "$threads" || code=1
    if [ "$code" = 0 ]; then return; fi
    names=$(may_try_again "$FOLDER/cargo.log") || return 1
    count=$(echo "$names" | wc -w)
    # shellcheck disable=SC2086  # names are words
    checked test --test suite -- --exact --test-threads 1 $names >"$FOLDER/alone" 2>&1
    if ! grep -q "^test result: ok. $count passed" "$FOLDER/alone"; then
        cat "$FOLDER/alone"
        return 1
    fi
    echo "passed alone: $count"
    echo "$names" >>"$SECOND_CHANCES"
}

# Prints the table of instructions.
show_budget() { sed -n '/^| instructions /,/^[0-9]* passed/p' "$1" | sed '$d'; }

# Starts the demo on free ports, without the variables that contain URLs of real providers.
start_demo() {
    env -u PRIMARY_URL -u SECOND_URL -u MESSAGES_URL -u IMAGES_URL -u VIDEO_A_URL -u VIDEO_B_URL \
        -u HEADGATE_DEMO_KEY_SHA256 -u HEADGATE_TASK_KEY -u HEADGATE_PUBLIC_URL -u HEADGATE_EGRESS_ALLOW \
        -u HEADGATE_WEBHOOK_SECRET -u HEADGATE_OLD_WEBHOOK_SECRET \
        "$program" demo --listen 127.0.0.1:0 --admin 127.0.0.1:0 --simulator 127.0.0.1:0 \
        >"$FOLDER/demo.out" 2>"$FOLDER/demo.err" </dev/null &
    demo=$!
    for _ in $(seq 100); do
        addresses=$(sed -n 's/^headgate demo: gateway \([^,]*\), admin \([^,]*\), simulated provider \([^,]*\)$/\1 \2 \3/p' \
            "$FOLDER/demo.err")
        # shellcheck disable=SC2086  # three addresses, separated by spaces
        if [ -n "$addresses" ] && all_answer $addresses; then return; fi
        if ! kill -0 "$demo" 2>/dev/null; then break; fi
        sleep 0.1
    done
    cat "$FOLDER/demo.err"
    return 1
}

# all_answer URLS…: whether each address accepts connections and responds with HTTP, whatever the status.
all_answer() {
    local url
    for url; do
        curl --silent --max-time 2 --output /dev/null "$url/" || return 1
    done
}

# shellcheck disable=SC2086  # three addresses, separated by spaces
run_clients() { HEADGATE_PROGRAM=$program tests/clients/run.sh $addresses; }

# Prints how many blocks of the documentation were run, and which are not.
show_docs() { sed -n '/^not run: \|^ *[0-9]* [a-z]*: /p' "$1"; }

# Prints what was left out.
show_audit() { grep '^audit: ' "$1"; }

tools() {
    run set-up count_nothing set_up || return
    # Before the gateway's own tests, which run the modules that this stage builds.
    run plugins count_log_of_cargo nice -n 10 plugins/test.sh
}

source_code() {
    run fmt count_one cargo fmt --all --check
    run audit count_one deploy/audit.sh
    run build count_nothing build
    # Those who wait for the program have the processor when they need it.
    local niceness=10
    run gateway count_one gateway
    if run compile count_nothing compile; then
        niceness=0
        run clippy count_one no_warnings compile
        after_wanted tools plugins
        after_wanted program docs
        run cargo count_log_of_cargo run_cargo
    fi
    # A gateway that has to wait takes more instructions, so that nothing runs beside this stage.
    run budget count_suite benches/budget/run.sh "$programs/headgate-budget"
}

against_program() {
    demo=""
    end_lane() { if [ -n "$demo" ]; then kill "$demo" 2>/dev/null; fi; }
    after_wanted source build && after_wanted tools set-up || return
    run demo count_nothing start_demo && run clients count_suite run_clients
    run deploy count_suite tests/deploy/run.sh "$program"
    run docs count_suite tests/docs/run.sh "$program"
}

tests/set_up.sh build lint || { echo "0 passed, 1 failed"; exit 1; }
lane tools tools
lane source source_code
lane program against_program
report_stages
# shellcheck disable=SC2086  # names are words
summary $(for name in $STAGES; do case $wanted in *" $name "*) echo "$name" ;; esac; done)
