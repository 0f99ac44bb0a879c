#!/usr/bin/env bash
# Installs missing programs and prints the reasons: `set_up.sh PURPOSE…`. `build` is enough to compile and run; `lint` adds
# what checks the source, `test` what the client suite needs, `soak`, `budget`, `profile` and `plugins` what the commands of
# `make` with these names need. Does nothing if nothing is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

purposes=" ${*:-build} "
for purpose in $purposes; do
    case $purpose in
        build | lint | test | soak | budget | profile | plugins) ;;
        *) echo "usage: $0 [build|lint|test|soak|budget|profile|plugins]…" >&2; exit 2 ;;
    esac
done

# serves PURPOSE: whether it is one of the purposes.
serves() { case $purposes in *" $1 "*) ;; *) return 1 ;; esac }

# Missing packages of Debian and Ubuntu, and formulas of Homebrew.
packages=()
formulas=()

have() { command -v "$1" >/dev/null 2>&1; }

# want TEST PACKAGES FORMULA WHY: if TEST fails, adds to both lists and prints the reason.
want() {
    if eval "$1" >/dev/null 2>&1; then return; fi
    # Another purpose wants it, too.
    case " ${packages[*]-} ${formulas[*]-} " in *" ${2:-$3} "*) return ;; esac
    echo "set_up: installs ${2:-$3}: $4"
    # shellcheck disable=SC2206  # several packages may be named, separated by spaces
    packages+=($2)
    # shellcheck disable=SC2206
    formulas+=($3)
}

want_build() {
    want "have cmake" cmake cmake "builds zlib-ng, which pingora-core links"
    want "have curl" curl "" "sends the requests that the demo suggests"
    if [ "$(uname)" = Darwin ]; then
        if ! have cc; then
            echo "set_up: no C compiler; run: xcode-select --install" >&2
            exit 1
        fi
        return
    fi
    want "have make" make "" "runs this repository's commands and zlib-ng's build"
    want "have cc" "gcc libc6-dev" "" "compiles ring, mimalloc, zstd and zlib-ng"
    want "have c++" g++ "" "the compiler that cmake looks for beside the one for C"
    want "have pkg-config" pkg-config "" "by which zstd's build looks for the system's"
}

want_test() {
    want "have python3" python3 python "runs the Python SDKs of the client suite"
    if [ "$(uname)" != Darwin ]; then
        want "python3 -c 'import ensurepip'" python3-venv "" "keeps those SDKs in a folder of their own"
        want "python3 -m pip --version" python3-pip "" "installs those SDKs"
    fi
    want "have redis-server" redis-server redis "the store that gateways share; tests start, kill and restart their own"
    want "have chromium || have chromium-browser || have google-chrome" chromium "" "opens the dashboard in the client suite"
    want "have prometheus" prometheus prometheus "scrapes the gateway, and checks the alerts and the dashboard of deploy"
    want "have docker-compose" docker-compose docker-compose "reads the file for compose in the tests of deploy"
    want "have node" nodejs node "runs the JavaScript SDKs of the client suite"
    want "have npm" npm node "installs those SDKs"
}

want_soak() {
    want "have python3" python3 python "runs the driver of the soak"
    want "have redis-server" redis-server redis "the store that the soak kills and pauses"
}

# What programs from Python's index are linked against, for the python3 that is there by now: a Python may bring it within
# itself, and then its library is a package of its own.
want_python_library() {
    if [ "$(uname)" = Darwin ]; then return; fi
    local library version
    version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    library=libpython$version.so.1.0
    want "python3 -c 'import ctypes; ctypes.CDLL(\"$library\")'" "libpython$version" "" \
        "has $library, which the OpenTelemetry collector of the tests is linked against"
}

want_budget() {
    # valgrind is not available on macOS.
    if [ "$(uname)" = Darwin ]; then return; fi
    want "have valgrind" valgrind "" "counts the instructions of a request"
}

want_profile() {
    want "have openssl" openssl openssl "makes the certificates of the load that is recorded"
    # The name of the package of Debian has the version of the compiler's LLVM, which only Debian's newest may have.
    if have rustup; then rustup component add llvm-tools >/dev/null 2>&1 || true; fi
}

# CLANG may name another compiler: that of macOS has no such target, and Homebrew's is not on the PATH.
want_plugins() {
    want "'${CLANG:-clang}' --print-targets | grep wasm32" clang llvm "compiles the plugin in C"
    want "have wasm-ld" lld lld "links that plugin"
    want "have docker-compose" docker-compose docker-compose "reads the file for compose in the tests of deploy"
    want "have node" nodejs node "runs the compiler of AssemblyScript"
    want "have npm" npm node "installs that compiler"
}

# The SDKs and the compiler of AssemblyScript need a newer node than some distributions have; npm has all versions.
# Installed in .clients, for the tests and the plugins only.
newer_node() {
    local found
    found=$(node --version)
    found=${found#v}
    if [ "${found%%.*}" -ge 20 ] || [ -x .clients/node/node_modules/.bin/node ]; then return; fi
    echo "set_up: installs node 22 in .clients: 20 or newer is needed, and this machine's is $found"
    # With its own npm: version 9 cannot read a lock file in which a package replaces another one.
    npm install --prefix .clients/node --no-audit --no-fund --loglevel=error node@22 npm@10 </dev/null
}

install_debian() {
    local root=()
    if [ "$(id -u)" != 0 ]; then
        if ! have sudo; then
            echo "set_up: needs root for apt-get; run as root: apt-get install ${packages[*]}" >&2
            exit 1
        fi
        root=(sudo)
    fi
    ${root[@]+"${root[@]}"} apt-get update -qq </dev/null
    ${root[@]+"${root[@]}"} env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends ca-certificates "${packages[@]}" \
        </dev/null >/dev/null
}

install_missing() {
    if [ "$(uname)" = Darwin ] && [ ${#formulas[@]} -gt 0 ]; then
        if ! have brew; then
            echo "set_up: no Homebrew to install with: ${formulas[*]}" >&2
            exit 1
        fi
        brew install --quiet "${formulas[@]}"
    elif [ "$(uname)" != Darwin ] && [ ${#packages[@]} -gt 0 ]; then
        if ! have apt-get; then
            echo "set_up: no apt-get here; install what Debian calls: ${packages[*]}" >&2
            exit 1
        fi
        install_debian
    fi
    packages=()
    formulas=()
}

# Checks for the Rust version in Cargo.toml, because an older compiler would fail with misleading errors.
rust_wanted() { sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml; }

check_rust() {
    if ! have cargo; then
        echo "set_up: no cargo; install Rust, then start a new shell:" >&2
        echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y" >&2
        exit 1
    fi
    local wanted found
    wanted=$(rust_wanted)
    found=$(rustc --version | cut -d' ' -f2)
    if [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" != "$wanted" ]; then
        echo "set_up: rust is $found and should be $wanted or newer; run: rustup update stable" >&2
        exit 1
    fi
    if serves plugins; then wasm_target; fi
    if serves lint; then
        component fmt rustfmt "checks the form of the source"
        component clippy clippy "checks the source for what is likely wrong"
    fi
}

# The standard library for the modules of the plugins.
wasm_target() {
    local target=wasm32-unknown-unknown
    if [ -d "$(rustc --print target-libdir --target "$target")" ]; then return; fi
    if ! have rustup; then
        echo "set_up: no rustup; install the Rust target $target by the way this Rust was installed" >&2
        exit 1
    fi
    echo "set_up: installs the Rust target $target: compiles the plugins in Rust"
    rustup target add "$target" </dev/null
}

# component SUBCOMMAND NAME WHY: a component of the Rust toolchain that the minimal profile does not include.
component() {
    if cargo "$1" --version >/dev/null 2>&1; then return; fi
    echo "set_up: installs $2: $3"
    rustup component add "$2" </dev/null
}

want_build
if serves test; then want_test; fi
if serves soak; then want_soak; fi
if serves budget; then want_budget; fi
if serves profile; then want_profile; fi
if serves plugins; then want_plugins; fi
install_missing
if serves test; then
    want_python_library
    install_missing
fi
if serves test || serves plugins; then newer_node; fi
check_rust
