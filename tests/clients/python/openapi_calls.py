"""Calls that Schemathesis generates from the description of the HTTP API: each response is one that the description has.

CLIENTS_OPENAPI_CALLS is the number of calls, of all operations of callers. Without it, there are some 50, of a few operations: data for each
takes a third of a second of the processor or more. Needs CLIENTS_SCHEMATHESIS, the path of the program.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import urllib.request

from demo import ADMIN_URL, BASE_URL, IMAGE, LARGE, VIDEO_A, VIDEO_B
from runner import Wrong, case, holds
from samples import KEY

SCHEMATHESIS = os.environ.get("CLIENTS_SCHEMATHESIS")
WANTED = os.environ.get("CLIENTS_OPENAPI_CALLS")
CALLS = int(WANTED or "50")
# The paths that are called without CLIENTS_OPENAPI_CALLS.
SAMPLE = ("/v1/models", "/v1/chat/completions", "/v1/messages", "/v1/images/edits", "/v1/video/generations", "/v1/files")
HOOKS = pathlib.Path(__file__).parent / "schemathesis_hooks.py"
# Calls to unknown ids wait for 300 ms, so that the more workers, the sooner all are made.
WORKERS = 8
# A call that takes longer has failed.
SECONDS_MAX = 30
MODELS = [LARGE, IMAGE, VIDEO_A, VIDEO_B]
# Conditions that only the gateway or the provider checks are no part of the description: the rules of a generation of models, the
# fields of a form, ids. So valid data may be refused.
UNCHECKED = "positive_data_acceptance"


@case
def calls_made_from_the_document_get_documented_responses_and_invalid_ones_an_error():
    if not SCHEMATHESIS:
        return
    document = _callers_document()
    operations = sum(len(item) for item in document["paths"].values())
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "openapi.json"
        path.write_text(json.dumps(document))
        # Some operations have fewer different calls than that.
        output = _generated_calls(path, CALLS * 5 // (operations * 4) + 1, folder)
    made = re.search(r"^ *([0-9]+) generated", output, re.MULTILINE)
    holds(f"at least {CALLS} calls are made", made and int(made[1]) >= CALLS, output[-500:])
    print(f"openapi calls: {made[0].strip()} for {operations} operations")
    with urllib.request.urlopen(f"{ADMIN_URL}/healthz", timeout=20) as response:
        holds("the gateway is healthy", response.status == 200)


def _generated_calls(path, examples, folder):
    """What Schemathesis prints. Without a failure it exits with 0."""
    command = [
        *(SCHEMATHESIS, "run", str(path), "--url", BASE_URL, "--header", f"Authorization: Bearer {KEY}"),
        *("--phases", "fuzzing", "--max-examples", str(examples), "--generation-deterministic", "--workers", str(WORKERS)),
        *("--checks", "all", "--exclude-checks", UNCHECKED, "--continue-on-failure"),
        *("--request-timeout", str(SECONDS_MAX), "--max-response-time", str(SECONDS_MAX)),
        *("--suppress-health-check", "all", "--warnings", "off", "--no-color"),
    ]
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if run.returncode != 0:
        print(run.stdout, run.stderr)
        failures = re.findall(r"^ +❌ (ST.*)$|^ +🚫 (.*)$", run.stdout, re.MULTILINE)
        raise Wrong(f"Schemathesis exits with {run.returncode}: {failures}")
    return run.stdout


def _callers_document():
    """The description without the admin pages, which are at another address."""
    with urllib.request.urlopen(f"{ADMIN_URL}/openapi.json", timeout=20) as response:
        document = json.load(response)
    for path, item in list(document["paths"].items()):
        operations = {method: operation for method, operation in item.items() if "admin" not in operation["tags"]}
        document["paths"][path] = operations
        if not operations or (not WANTED and path not in SAMPLE):
            del document["paths"][path]
    for name, schema in document["components"]["schemas"].items():
        if name.startswith("family_a."):
            _remove_conditions(schema)
        if name.endswith(".request"):
            # Other models are 404, whatever else a request has.
            schema["properties"]["model"] = {"type": "string", "enum": MODELS}
    return document


def _remove_conditions(value):
    """Removes what Schemathesis cannot generate data for, `contains` within `if`. What the rest forbids is invalid all the same."""
    if isinstance(value, dict):
        for member in ("if", "then", "else", "contains"):
            if isinstance(value.get(member), dict):
                del value[member]
        for member in value.values():
            _remove_conditions(member)
    elif isinstance(value, list):
        for element in value:
            _remove_conditions(element)
