"""Tests of what the provider receives, of the parts of its responses that callers do not see, and of metrics."""

import asyncio
import json
import time

import anthropic
import openai

from demo import (
    CHANNEL_MODELS,
    KEY,
    LARGE,
    QUESTION,
    SMALL,
    anthropic_client,
    async_anthropic_client,
    async_openai_client,
    marked,
    metric,
    openai_client,
    received,
    simulate,
)
from runner import case, cases, contains, equal, holds, raised

OPENAI, ANTHROPIC = openai_client(), anthropic_client()
BY_TOKEN = anthropic_client(None, auth_token=KEY)
PACED = simulate("pace=5ms")
MESSAGES = [{"role": "user", "content": QUESTION}]


def chat(model, **options):
    return OPENAI.chat.completions.with_raw_response.create(model=model, messages=MESSAGES, **options)


def respond(model, **options):
    return OPENAI.responses.with_raw_response.create(model=model, input=QUESTION, **options)


def send(model, client=ANTHROPIC, **options):
    return client.messages.with_raw_response.create(model=model, max_tokens=200, messages=MESSAGES, **options)


def send_by_token(model, **options):
    return send(model, BY_TOKEN, **options)


CALLS = {"chat": (chat,), "responses": (respond,), "messages": (send,), "messages_by_token": (send_by_token,)}


@cases(**{f"{name}_{model}": (call, model) for name, (call,) in CALLS.items() for model in (LARGE, SMALL)})
def the_provider_is_asked_for_its_own_model_and_not_told_the_callers_key(call, model):
    mark, headers = marked()
    call(model, extra_headers=headers)
    (record,) = received(mark)
    holds("the model is the channel's", record["model"] in CHANNEL_MODELS[model], record["model"])
    holds("the key is not sent on", KEY not in json.dumps(record["headers"]), record["headers"])
    credential = record["headers"].get("authorization") or record["headers"].get("x-api-key")
    contains("the channel's credential", credential, "sk-simulated-")


@cases(**CALLS)
def the_body_reaches_the_provider_byte_for_byte_but_for_the_model(call):
    mark, headers = marked()
    raw = call(SMALL, extra_headers=headers)
    (record,) = received(mark)
    sent = raw.http_request.content
    (channel_model,) = CHANNEL_MODELS[SMALL]
    equal("body", record["body"], sent.replace(SMALL.encode(), channel_model.encode(), 1))


@cases(**CALLS)
def headers_of_the_providers_account_stay_behind(call):
    for options in ({}, {"stream": True}):
        answer = call(LARGE, **options)
        names = {name.lower() for name in answer.headers}
        kept = {"set-cookie", "openai-organization", "openai-project", "anthropic-organization-id", "cf-ray"}
        equal("headers shown", sorted(names & kept), [])
        holds("limits are hidden", not any("ratelimit" in name for name in names), sorted(names))


@cases(**CALLS)
def the_channels_credential_never_reaches_the_caller(call):
    kind = openai.BadRequestError if call in (chat, respond) else anthropic.BadRequestError
    error = raised(kind, lambda: call(SMALL, extra_headers=simulate("status=400; echo_credential")))
    told = f"{error.body} {error.response.headers}"
    contains("the error", told, "API key")
    holds("the credential is taken out of an error", "sk-simulated" not in told, told)
    for when in ("error_event_first", "error_event_after=3"):
        stream = call(SMALL, stream=True, extra_headers=simulate(f"echo_credential; {when}"))
        told = stream.http_response.read().decode()
        contains("the stream", told, "API key")
        holds("the credential is taken out of a stream", "sk-simulated" not in told, told[-400:])


@cases(**CALLS)
def a_request_id_is_told_whole_and_streamed(call):
    ids = set()
    for options in ({}, {}, {"stream": True}):
        answer = call(LARGE, **options)
        holds("the SDK sees it", bool(answer.request_id), dict(answer.headers))
        equal("x-request-id", answer.headers.get("x-request-id"), answer.request_id)
        holds("it is the gateway's own", not answer.request_id.startswith("req_sim_"), answer.request_id)
        ids.add(answer.request_id)
    equal("different ids", len(ids), 3)


@cases(**CALLS)
def the_parsed_answer_has_the_request_id(call):
    raw = call(LARGE)
    equal("_request_id", raw.parse()._request_id, raw.request_id)


@cases(**CALLS)
def the_requests_are_counted(call):
    before = metric("headgate_requests_total")
    call(LARGE)
    # A request is counted when it is settled, which is after its response was sent.
    deadline = time.monotonic() + 2
    while metric("headgate_requests_total") == before and time.monotonic() < deadline:
        time.sleep(0.02)
    equal("headgate_requests_total", metric("headgate_requests_total"), before + 1)


@case
def a_channel_that_fails_is_not_noticed():
    mark, headers = marked()
    answer = chat(LARGE, extra_headers=headers | simulate(f"status=500; times=1; message={mark}")).parse()
    equal("finish_reason", answer.choices[0].finish_reason, "stop")
    channels = {record["headers"]["authorization"] for record in received(mark)}
    equal("channels tried", channels, {"Bearer sk-simulated-primary", "Bearer sk-simulated-second"})


@case
async def many_streams_at_once_do_not_mix():
    async with async_openai_client() as by_openai, async_anthropic_client() as by_anthropic:

        async def chat_text(question):
            messages = [{"role": "user", "content": question}]
            stream = await by_openai.chat.completions.create(
                model=LARGE, messages=messages, stream=True, extra_headers=PACED
            )
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

        async def response_text(question):
            stream = await by_openai.responses.create(
                model=LARGE, input=question, stream=True, extra_headers=PACED
            )
            return "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])

        async def message_text(question):
            messages = [{"role": "user", "content": question}]
            asked = {"model": LARGE, "max_tokens": 200, "messages": messages, "extra_headers": PACED}
            async with by_anthropic.messages.stream(**asked) as stream:
                return "".join([piece async for piece in stream.text_stream])

        asking = [(ask, f"Question {n}?") for n in range(16) for ask in (chat_text, response_text, message_text)]
        texts = await asyncio.gather(*(ask(question) for ask, question in asking))
    for (_, question), text in zip(asking, texts):
        contains("text", text, question)
        equal("bytes of text", len(text.encode()), 240)
