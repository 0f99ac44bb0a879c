"""Tests of an agent in a loop: each cap of a run stops it with one error, which no SDK retries."""

import os
import uuid

import anthropic
import openai

from demo import KEY, QUESTION, SMALL, marked, received
from runner import cases, contains, equal, holds

# Set by run.sh if it has a program to start; without one no caller has runs.
URL = os.environ.get("CLIENTS_RUNS_URL")
MOST_CALLS = 1_000
CAPS = {"calls": "5", "tokens": "1000", "cost": "0.005", "time": "700ms", "repeats": "4"}


def client(sdk, kind, base_url, headers):
    """A client with the retries of its SDK, and the list of the requests that it sends."""
    sent = []
    http = sdk.DefaultHttpxClient(event_hooks={"request": [sent.append]}, timeout=20.0, trust_env=False)
    return kind(api_key=KEY, base_url=base_url, default_headers=headers, http_client=http), sent


def by_chat(headers):
    sdk, sent = client(openai, openai.OpenAI, f"{URL}/v1", headers)
    messages = [{"role": "user", "content": QUESTION}]
    return lambda: sdk.chat.completions.create(model=SMALL, messages=messages, max_tokens=50), sent


def by_responses(headers):
    sdk, sent = client(openai, openai.OpenAI, f"{URL}/v1", headers)
    return lambda: sdk.responses.create(model=SMALL, input=QUESTION, max_output_tokens=50), sent


def by_messages(headers):
    sdk, sent = client(anthropic, anthropic.Anthropic, URL, headers)
    messages = [{"role": "user", "content": QUESTION}]
    return lambda: sdk.messages.create(model=SMALL, messages=messages, max_tokens=50), sent


CLIENTS = {"chat": by_chat, "responses": by_responses, "messages": by_messages}
ROWS = {f"{cap}_{name}": (cap, make) for cap in CAPS for name, make in CLIENTS.items()}

if URL:

    @cases(**ROWS)
    def a_loop_ends_at_the_cap_of_its_run(cap, make):
        mark, headers = marked()
        headers |= {"x-headgate-run": uuid.uuid4().hex, f"x-headgate-run-{cap}": CAPS[cap]}
        call, sent = make(headers)
        error = None
        while error is None and len(sent) < MOST_CALLS:
            try:
                call()
            except (openai.RateLimitError, anthropic.RateLimitError) as refused:
                error = refused
        holds("the loop ended", error is not None, len(sent))
        equal("status", error.status_code, 429)
        equal("the cap", error.response.headers.get("x-headgate-run-cap"), cap)
        contains("message", str(error), "run")
        if make is not by_messages:
            equal("code", error.code, "insufficient_quota")
        admitted = len(received(mark))
        equal("requests that were sent", len(sent), admitted + 1)
        if cap in ("calls", "repeats"):
            equal("requests at the provider", admitted, int(CAPS[cap]))
        holds("some were admitted", admitted > 0, admitted)
        told = [name for record in received(mark) for name in record["headers"] if "headgate" in name]
        equal("headers of the run at the provider", told, [])
