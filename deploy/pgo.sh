#!/usr/bin/env bash
# Builds the fastest program by profile-guided optimization (PGO): `make pgo` compiles with a profile of the code that
# requests use, which `make profile` makes before (`pgo.sh profile`). It is in target/profile; it holds for the compiler and the
# sources that it was made with, and another one is refused. Needs llvm-profdata of the compiler's LLVM.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=target/profile
host=$(rustc -vV | sed -n 's/^host: //p')
bytes_max=2000000
# Functions that ran less often in the load only start and end the program, and are compiled as without a profile.
runs_min=2000

fail() { echo "pgo.sh: $*" >&2; exit 1; }

# The digest of what a profile depends on: the compiler, and all that is compiled.
stamp() {
    {
        rustc -vV
        find Cargo.toml Cargo.lock build.rs src crates schemas -type f -not -path '*/tests/*' -print0 |
            LC_ALL=C sort -z | xargs -0 sha256sum
    } | sha256sum | cut -c 1-12
}

# The program that merges profiles. One of another LLVM cannot read them.
merger() {
    local llvm program
    llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
    for program in "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" "llvm-profdata-$llvm" llvm-profdata; do
        if "$program" --version 2>/dev/null | grep -q "LLVM version $llvm\."; then
            echo "$program"
            return
        fi
    done
    fail "llvm-profdata of LLVM $llvm is missing; run: rustup component add llvm-tools, or: apt-get install llvm-$llvm"
}

# Compiles the program with a flag. Names of functions depend on cargo's profile, which must be the same for both builds, and
# not on flags. With --target, programs that only the build runs have no flag.
compile() {
    RUSTFLAGS=$1 cargo build --release --locked --bin headgate --target "$host" --target-dir "$folder/build"
}

# Leaves out the functions of a profile, as text, that ran less than MIN times: leave_out MIN < TEXT.
leave_out() {
    awk -v RS= -v ORS='\n\n' -v FS='\n' -v min="$1" '
        {
            runs = 0
            counters = 0
            for (line = 1; line <= NF; line++) {
                if ($line ~ /^#/) counters = $line ~ /Counter Values/
                else if (counters && $line + 0 > runs) runs = $line + 0
            }
            if (NR == 1 || runs >= min) print
        }'
}

# Sends the load of the budgets to a program that counts, and writes target/profile/DIGEST.profdata.
profile() {
    local merge raw=$PWD/$folder/raw digest bytes
    merge=$(merger)
    rm -rf "$raw" "$folder"/*.profdata "$folder/current"
    mkdir -p "$raw"
    compile "-Cprofile-generate=$raw"
    cargo build --release --locked -p headgate-budget --bin headgate-budget
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE \
        -keyout "$raw/key.pem" -out "$raw/certificate.pem" 2>/dev/null
    target/release/headgate-budget --train "$folder/build/$host/release" "$raw"
    "$merge" merge --sparse --text -o "$raw/all.txt" "$raw"/*.profraw
    leave_out "$runs_min" < "$raw/all.txt" > "$raw/used.txt"
    "$merge" merge --sparse -o "$folder/new.profdata" "$raw/used.txt"
    bytes=$(wc -c < "$folder/new.profdata")
    [ "$bytes" -le "$bytes_max" ] || fail "the profile has $bytes bytes, more than $bytes_max"
    digest=$(sha256sum "$folder/new.profdata" | cut -c 1-12)
    # cargo compiles again when the name changes, not when the file does.
    mv "$folder/new.profdata" "$folder/$digest.profdata"
    rm -rf "$raw"
    echo "$(stamp) $digest" > "$folder/current"
    echo "profile $digest: $bytes bytes"
}

release() {
    local made digest
    [ -f "$folder/current" ] || fail "there is no profile; run: make profile"
    read -r made digest < "$folder/current"
    [ "$made" = "$(stamp)" ] || fail "the profile is of other sources or of another compiler; run: make profile"
    export HEADGATE_PROFILE=$digest
    compile "-Cprofile-use=$PWD/$folder/$digest.profdata"
    echo "$folder/build/$host/release/headgate"
}

case ${1:-release} in
    profile) profile ;;
    release) release ;;
    stamp) stamp ;;
    *) echo "usage: $0 [profile|release|stamp]" >&2; exit 2 ;;
esac
