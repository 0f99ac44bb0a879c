"""The running demo: its address, clients for it, the simulated provider's records, and the metrics."""

import json
import re
import sys
import time
import urllib.request
import uuid

import anthropic
import dashscope
import openai
import volcenginesdkarkruntime as ark

from samples import KEY, PDF, PNG  # noqa: F401

BASE_URL, ADMIN_URL, SIMULATOR_URL = (argument.rstrip("/") for argument in sys.argv[1:4])

# The second model has one channel in each protocol, so that results do not depend on load balancing.
LARGE, SMALL = "demo-chat", "demo-small"
IMAGE, VIDEO_A, VIDEO_B = "demo-image", "demo-video-a", "demo-video-b"
# A generation of models that accepts image URLs.
VIDEO_B_2 = "demo-video-b-2"
CHANNEL_MODELS = {LARGE: ("sim-large-2026-08", "sim-other-2026-05"), SMALL: ("sim-small-2026-08",)}

QUESTION = "What is a headgate?"
ABOUT_WEATHER = "What is the weather in Lisbon?"
CITY_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
# The arguments with which the simulated model calls its tools, by this schema.
CITY_ARGUMENTS = {"city": "sample city"}

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


def ark_client(key=KEY):
    return ark.Ark(base_url=f"{BASE_URL}/api/v3", api_key=key, **_PATIENCE)


def async_ark_client():
    return ark.AsyncArk(base_url=f"{BASE_URL}/api/v3", api_key=KEY, **_PATIENCE)


# This SDK has no client object, only settings of its module.
dashscope.base_http_api_url = f"{BASE_URL}/api/v1"
dashscope.api_key = KEY


def generic_video(model, **fields):
    """The response to a create in the generic protocol."""
    body = json.dumps({"model": model, **fields}).encode()
    return json.loads(_get(f"{BASE_URL}/v1/video/generations", body))


def generic_video_task(id):
    """The status of a task in the generic protocol."""
    return json.loads(_get(f"{BASE_URL}/v1/video/generations/{id}"))


def until(what, look):
    """Polls `look` until it returns something."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"never came: {what}")


def simulate(directives):
    """Request headers with directives for the simulated provider."""
    return {"x-simulate": directives}


def marked(directives=None):
    """A unique mark, and request headers with it, to find the request in the provider's log."""
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


def _get(url, body=None):
    headers = {"content-type": "application/json"}
    if url.startswith(BASE_URL):
        headers["authorization"] = f"Bearer {KEY}"
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read()
