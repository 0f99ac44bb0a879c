"""The running demo: where it is, clients of it, and what its simulated provider and its metrics tell."""

import base64
import json
import re
import sys
import urllib.request
import uuid

import anthropic
import openai

BASE_URL, ADMIN_URL, SIMULATOR_URL = (argument.rstrip("/") for argument in sys.argv[1:4])

KEY = "sk-demo"
# Of the two, the second has one channel in each protocol, so what it does does not depend on a draw.
LARGE, SMALL = "demo-chat", "demo-small"
CHANNEL_MODELS = {LARGE: ("sim-large-2026-08", "sim-other-2026-05"), SMALL: ("sim-small-2026-08",)}

QUESTION = "What is a headgate?"
ABOUT_WEATHER = "What is the weather in Lisbon?"
CITY_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
# What the simulated model calls its tools with, under this schema.
CITY_ARGUMENTS = {"city": "sample city"}
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode()

_PATIENCE = {"max_retries": 0, "timeout": 20.0}
_OPENAI = {"base_url": f"{BASE_URL}/v1", **_PATIENCE}
_ANTHROPIC = {"base_url": BASE_URL, **_PATIENCE}


def openai_client(key=KEY, **options):
    return openai.OpenAI(**{**_OPENAI, "api_key": key, **options})


def async_openai_client():
    return openai.AsyncOpenAI(api_key=KEY, **_OPENAI)


def anthropic_client(key=KEY, **options):
    return anthropic.Anthropic(**{**_ANTHROPIC, "api_key": key, **options})


def async_anthropic_client():
    return anthropic.AsyncAnthropic(api_key=KEY, **_ANTHROPIC)


def simulate(directives):
    """Headers by which the simulated provider misbehaves."""
    return {"x-simulate": directives}


def marked(directives=None):
    """A mark, and headers by which the provider's record of a request can be found under it."""
    mark = uuid.uuid4().hex
    headers = {"x-client-case": mark}
    return mark, {**headers, **simulate(directives)} if directives else headers


def received(mark):
    """The provider's records of the requests with this mark, and their bodies."""
    records = json.loads(_get(f"{SIMULATOR_URL}/_simulate/requests"))
    marked_ones = [record for record in records if record["headers"].get("x-client-case") == mark]
    for record in marked_ones:
        record["body"] = _get(f"{SIMULATOR_URL}/_simulate/requests/{record['n']}/body")
    return marked_ones


def received_body(mark):
    """The body of the one request with this mark, as JSON."""
    (record,) = received(mark)
    return json.loads(record["body"])


def metric(name):
    """The sum of a metric over all its labels."""
    text = _get(f"{ADMIN_URL}/metrics").decode()
    lines = re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)
    return sum(float(value) for value in lines)


def _get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()
