"""Tests of HTTP/2: a client with a wrong key and a body of any size receives the 401, and not a stream error."""

import json
import os
import subprocess
import ssl
import tempfile

import httpx

from runner import Wrong, cases, equal

# Set by run.sh if it has a program to start; without one there is no HTTP/2 to test.
URL, AUTHORITY = os.environ.get("CLIENTS_HTTPS_URL"), os.environ.get("CLIENTS_HTTPS_AUTHORITY")
# The number of tries of each client.
TRIES = int(os.environ.get("CLIENTS_HTTP2_TRIES", "8"))

SIZES = (1, 1 << 10, 20_000, 70_000, 1 << 20, 2 << 20, 10 << 20, 50 << 20)
PATH = "/v1/chat/completions"
HEADERS = {"authorization": "Bearer sk-wrong", "content-type": "application/json"}


def by_curl(size):
    command = ["curl", "--silent", "--show-error", "--http2", "--cacert", AUTHORITY, "--max-time", "60"]
    for name, value in HEADERS.items():
        command += ["--header", f"{name}: {value}"]
    with tempfile.NamedTemporaryFile() as body:
        body.write(b" " * size)
        body.flush()
        command += ["--data-binary", f"@{body.name}", "--write-out", "\n%{http_version} %{http_code}"]
        done = subprocess.run([*command, URL + PATH], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Wrong(f"curl ended with {done.returncode}: {done.stderr}")
    text, _, told = done.stdout.rpartition("\n")
    version, status = told.split()
    return version, int(status), json.loads(text)


def by_httpx(size):
    # httpx needs minutes to send tens of megabytes in one piece, and reads nothing meanwhile.
    size = size if TRIES > len(SIZES) else min(size, 10 << 20)
    trust = ssl.create_default_context(cafile=AUTHORITY)
    with httpx.Client(http2=True, verify=trust, timeout=300.0, trust_env=False) as client:
        answer = client.post(URL + PATH, content=b" " * size, headers=HEADERS)
    return answer.http_version.removeprefix("HTTP/"), answer.status_code, answer.json()


def by_httpx_in_pieces(size):
    trust = ssl.create_default_context(cafile=AUTHORITY)
    pieces = (b" " * min(50_000, size - sent) for sent in range(0, size, 50_000))
    with httpx.Client(http2=True, verify=trust, timeout=300.0, trust_env=False) as client:
        answer = client.post(URL + PATH, content=pieces, headers=HEADERS)
    return answer.http_version.removeprefix("HTTP/"), answer.status_code, answer.json()


if URL:

    @cases(curl=(by_curl,), httpx=(by_httpx,), httpx_in_pieces=(by_httpx_in_pieces,))
    def a_wrong_key_is_refused_whatever_the_body(post):
        lost = []
        for n in range(TRIES):
            size = SIZES[n % len(SIZES)]
            try:
                version, status, body = post(size)
                equal("version", version.split(".")[0], "2")
                equal("status", status, 401)
                equal("type", body["error"]["type"], "invalid_request_error")
            except Exception as error:  # noqa: BLE001: any error is a failed try
                lost.append(f"{size} bytes: {type(error).__name__} {error}")
        equal(f"refusals lost of {TRIES}", lost, [])
