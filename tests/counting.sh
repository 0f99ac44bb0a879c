# Counts tests for tests/run.sh, which sources this file; tests/tidy tests these functions with made-up logs.
# shellcheck shell=bash

# If more tests than this failed at first and passed when run alone, they count as failed.
SECOND_CHANCES_MAX=3

# count_cargo LOG: prints `passed failed`, the sums of cargo's lines `test result: ok. 12 passed; 0 failed; …`, one for
# each test binary. A test that failed and then passed when run alone counts as passed.
count_cargo() {
    sed -n -e 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed;.*/\1 \2/p' \
        -e 's/^passed alone: \([0-9]*\)$/\1 -\1/p' "$1" |
        awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }'
}

# may_try_again LOG: prints the names of the failed tests if all of them start real processes and there are at most
# SECOND_CHANCES_MAX; otherwise fails.
may_try_again() {
    local failures names count
    failures=$(grep -c '^test .* FAILED$' "$1")
    names=$(sed -n 's/^test \([a-z0-9_]*::[a-z0-9_:]*\) \.\.\. FAILED$/\1/p' "$1")
    count=$(echo "$names" | wc -w)
    if [ "$count" = 0 ] || [ "$count" != "$failures" ] || [ "$count" -gt "$SECOND_CHANCES_MAX" ]; then
        return 1
    fi
    echo "$names"
}

# verdict PASSED FAILED NAMES: prints the last two lines of a run: the tests that passed only when run alone, and the
# counts. NAMES is a file with the names of these tests. Fails if the run has failed.
verdict() {
    local passed=$1 failed=$2 chances names
    chances=$(grep -c . "$3")
    names=$(paste -s -d ' ' "$3")
    if [ "$chances" -gt "$SECOND_CHANCES_MAX" ]; then
        echo "second chances: $chances, more than the $SECOND_CHANCES_MAX allowed, which fails the run: $names"
        passed=$((passed - chances))
        failed=$((failed + chances))
    elif [ "$chances" -gt 0 ]; then
        echo "second chances: $chances passed only when run alone: $names"
    else
        echo "second chances: 0"
    fi
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}
