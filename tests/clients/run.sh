#!/usr/bin/env bash
# Tests unpatched Python and JavaScript SDKs against a running demo:
#
#   tests/clients/run.sh BASE_URL ADMIN_URL SIMULATOR_URL     all cases; exit 1 if one fails
#   tests/clients/run.sh --install                            only installs the SDKs
#
# The demo is `headgate demo --listen … --admin … --simulator …` with the repository's routes.yaml. If HEADGATE_PROGRAM
# is the path of the program, the cases with TLS (those of HTTP/2, and of SDKs of vendors of videos), those of models of these
# vendors, those of runs, and those of agents with providers of other protocols run too, against gateways of their own;
# CLIENTS_HTTP2_TRIES is the number of tries of each of their clients (8). CLIENTS_OPENAPI_CALLS is the number of calls that
# Schemathesis makes from the OpenAPI document of the demo (50). Prints a line for each failed case, then the
# counts of each language, then the total. The SDKs are installed in .clients/ and kept until their pinned versions
# change. Missing on a bare Debian or Ubuntu:
#
#   install_client_runtimes() {
#     apt-get update && apt-get install -y --no-install-recommends python3 python3-venv nodejs npm
#   }
set -euo pipefail

SUITE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
INSTALLED=$(cd "$SUITE/../.." && pwd)/.clients
PYTHON=$INSTALLED/python/bin/python
PYTHON_MIN=3.11
AGENTS=$INSTALLED/agents/bin/python
OLDEST=$INSTALLED/python/oldest
CLIENTS_SCHEMATHESIS=$INSTALLED/schemathesis/bin/schemathesis
export CLIENTS_SCHEMATHESIS
gateways=()
folders=()
NODE_MIN=20

main() {
  case $# in
    1) [[ $1 == --install ]] || usage; require_runtimes; install ;;
    3) require_runtimes; install; run_cases "$@" ;;
    *) usage ;;
  esac
}

usage() {
  echo "usage: tests/clients/run.sh BASE_URL ADMIN_URL SIMULATOR_URL | --install" >&2
  exit 2
}

require_runtimes() {
  local missing=()
  command -v python3 >/dev/null || missing+=(python3)
  python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  command -v node >/dev/null || missing+=(nodejs)
  command -v npm >/dev/null || missing+=(npm)
  if ((${#missing[@]})); then
    echo "the client suite cannot run, missing: ${missing[*]}" >&2
    echo "on Debian or Ubuntu: apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 2
  fi
  if ! python3 -c "import sys; sys.exit(sys.version_info < (${PYTHON_MIN/./, }))"; then
    echo "the client suite cannot run: found $(python3 --version), the SDKs need $PYTHON_MIN or newer" >&2
    exit 2
  fi
  local version major
  version=$(node --version)
  major=${version#v}
  if ((${major%%.*} < NODE_MIN)); then
    echo "the client suite cannot run: found node $version, the SDKs need v$NODE_MIN or newer" >&2
    exit 2
  fi
}

install() {
  mkdir -p "$INSTALLED"
  exec 9>"$INSTALLED/lock"
  flock 9
  unless_stamped python "$(python3 --version)" "$SUITE/requirements.txt" "$SUITE/oldest_requirements.txt"
  unless_stamped agents "$(python3 --version)" "$SUITE/agents_requirements.txt"
  unless_stamped schemathesis "$(python3 --version)" "$SUITE/schemathesis_requirements.txt"
  unless_stamped js "$(node --version)" "$SUITE/package-lock.json" "$SUITE/package.json"
  flock -u 9
}

# unless_stamped WHAT RUNTIME PINS…: reinstalls WHAT unless its stamp matches the pinned versions.
unless_stamped() {
  local what=$1 runtime=$2 stamp
  stamp=$(cat "${@:3}" <(echo "$runtime $INSTALLED") | sha256sum)
  [[ -f $INSTALLED/$what/stamp && $(<"$INSTALLED/$what/stamp") == "$stamp" ]] && return
  echo "installing the $what SDKs into .clients/$what" >&2
  rm -rf "${INSTALLED:?}/$what"
  "install_$what"
  echo "$stamp" >"$INSTALLED/$what/stamp"
}

install_python() {
  python3 -m venv "$INSTALLED/python"
  "$PYTHON" -m pip install --quiet --disable-pip-version-check --requirement "$SUITE/requirements.txt"
  # A process uses it instead of the newest one if it is in PYTHONPATH.
  "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --target "$OLDEST" \
    --requirement "$SUITE/oldest_requirements.txt"
}

# Agents need other versions of packages that the SDKs use.
install_agents() {
  python3 -m venv "$INSTALLED/agents"
  "$AGENTS" -m pip install --quiet --disable-pip-version-check --no-deps --requirement "$SUITE/agents_requirements.txt"
}

# Schemathesis needs other versions of packages, too.
install_schemathesis() {
  python3 -m venv "$INSTALLED/schemathesis"
  "$INSTALLED/schemathesis/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    --requirement "$SUITE/schemathesis_requirements.txt"
}

install_js() {
  mkdir -p "$INSTALLED/js"
  cp "$SUITE/package.json" "$SUITE/package-lock.json" "$SUITE/.npmrc" "$INSTALLED/js/"
  # The cases are linked into this folder, so that their imports find the SDKs beside them.
  ln -s "$SUITE/js" "$INSTALLED/js/cases"
  (cd "$INSTALLED/js" && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error)
}

run_cases() {
  forget_environment
  if ! "$PYTHON" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5)' "$2/healthz" 2>/dev/null; then
    echo "no demo answers at $2/healthz" >&2
    exit 2
  fi
  local passed=0 failed=0 counts
  counts=$(mktemp)
  trap "rm -f '$counts'; stop_gateways" EXIT
  start_gateways "$3"
  count python "$PYTHON" -B "$SUITE/python/main.py" "$@"
  if [[ -n ${CLIENTS_TRANSLATION_URL:-} ]]; then
    count python "$AGENTS" -B "$SUITE/python/agents_main.py"
  fi
  count javascript node --preserve-symlinks --preserve-symlinks-main "$INSTALLED/js/cases/main.mjs" "$@"
  echo "$passed passed, $failed failed"
  ((failed == 0))
}

# Starts gateways with TLS, with vendors of videos, with translation and with runs if HEADGATE_PROGRAM is set, and passes their addresses to the
# cases.
start_gateways() {
  [[ -n ${HEADGATE_PROGRAM:-} ]] || return 0
  start_gateway https_gateway.py "$1"
  CLIENTS_HTTPS_AUTHORITY=${folders[0]}/authority.pem
  start_gateway vendors_gateway.py "$1"
  start_gateway translation_gateway.py "$1"
  start_gateway runs_gateway.py "$1"
  CLIENTS_HTTPS_URL=$(await_url "${folders[0]}")
  CLIENTS_VENDORS_URL=$(await_url "${folders[1]}")
  CLIENTS_TRANSLATION_URL=$(await_url "${folders[2]}")
  CLIENTS_RUNS_URL=$(await_url "${folders[3]}")
  CLIENTS_OLDEST_PYTHONPATH=$OLDEST
  export CLIENTS_RUNS_URL CLIENTS_TRANSLATION_URL CLIENTS_HTTPS_URL CLIENTS_HTTPS_AUTHORITY CLIENTS_VENDORS_URL CLIENTS_OLDEST_PYTHONPATH
  # Node reads it only as it starts.
  export NODE_EXTRA_CA_CERTS=$CLIENTS_HTTPS_AUTHORITY
}

# start_gateway SCRIPT ARGUMENTS…: starts a gateway in a folder of its own.
start_gateway() {
  local folder
  folder=$(mktemp -d)
  folders+=("$folder")
  "$PYTHON" -B "$SUITE/python/$1" "$HEADGATE_PROGRAM" "$folder" "${@:2}" &
  gateways+=($!)
}

# await_url FOLDER: prints the address of a gateway once it listens.
await_url() {
  local n
  for n in $(seq 200); do
    [[ -f $1/url ]] && break
    sleep 0.1
  done
  cat "$1/url"
}

stop_gateways() {
  local gateway
  for gateway in "${gateways[@]}"; do
    kill "$gateway" 2>/dev/null || true
    wait "$gateway" 2>/dev/null || true
  done
  rm -rf "${folders[@]}"
}

# Unsets keys, addresses and proxies that the SDKs would read from the environment.
forget_environment() {
  local name
  for name in $(compgen -e); do
    case $name in
      RUNWAYML_* | REPLICATE_* | FAL_* | LUMAAI_* | GOOGLE_* | GEMINI_* | OPENAI_* | ANTHROPIC_* | AI_* | DASHSCOPE_* | ARK_* | VOLC_* | E2E_* | LANGSMITH_* | LANGCHAIN_* | NODE_OPTIONS | NODE_USE_ENV_PROXY | PYTHONPATH) unset "$name" ;;
      *_proxy | *_PROXY) unset "$name" ;;
    esac
  done
}

# count LANGUAGE COMMAND…: runs the cases of a language and adds their counts to `passed` and `failed`.
count() {
  local language=$1 line
  "${@:2}" | tee "$counts" || true
  line=$(tail -n 1 "$counts")
  if [[ $line =~ ^$language:\ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  else
    echo "FAILED $language: broke off before its counts, see above"
    failed=$((failed + 1))
  fi
}

main "$@"
