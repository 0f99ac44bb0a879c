"""Tests of errors that the OpenAI SDK raises."""

import time

import openai

from demo import LARGE, QUESTION, SMALL, marked, openai_client, received, simulate
from runner import cases, contains, equal, holds, raised, until_broken

client = openai_client()
MESSAGES = [{"role": "user", "content": QUESTION}]


def chat(client=client, model=SMALL, **options):
    return client.chat.completions.create(model=model, messages=MESSAGES, **options)


def respond(client=client, model=SMALL, **options):
    return client.responses.create(model=model, input=QUESTION, **options)


BOTH = {"chat": (chat,), "responses": (respond,)}
STATUSES = {
    f"{protocol}_{status}": (call, status, kind)
    for protocol, (call,) in BOTH.items()
    for status, kind in {
        400: openai.BadRequestError,
        403: openai.PermissionDeniedError,
        409: openai.ConflictError,
        422: openai.UnprocessableEntityError,
        429: openai.RateLimitError,
        500: openai.InternalServerError,
        503: openai.InternalServerError,
    }.items()
}


@cases(**BOTH)
def a_wrong_key_is_an_authentication_error(call):
    error = raised(openai.AuthenticationError, lambda: call(openai_client("sk-wrong")))
    equal("status", error.status_code, 401)
    equal("code", error.code, "invalid_api_key")
    contains("message", error.message, "key")
    holds("the key is not repeated", "sk-wrong" not in str(error.body), error.body)


@cases(**BOTH)
def an_unknown_model_is_not_found_and_the_nearest_named(call):
    error = raised(openai.NotFoundError, lambda: call(model="demo-chap"))
    equal("status", error.status_code, 404)
    equal("code", error.code, "model_not_found")
    contains("message", error.message, LARGE)


@cases(**BOTH)
def a_parameter_out_of_range_is_named(call):
    error = raised(openai.BadRequestError, lambda: call(temperature=3))
    equal("status", error.status_code, 400)
    equal("type", error.type, "invalid_request_error")
    equal("param", error.param, "temperature")
    contains("message", error.message, "temperature")


@cases(
    bad_role=([{"role": "keeper", "content": "x"}], "messages[0].role"),
    bad_part=([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0]"),
    no_messages=([], "messages"),
)
def a_bad_message_is_named_by_its_place(messages, place):
    error = raised(
        openai.BadRequestError, lambda: client.chat.completions.create(model=SMALL, messages=messages)
    )
    contains("param", error.param, place)


@cases(**STATUSES)
def an_error_of_the_provider_is_raised_with_its_status(call, status, kind):
    directives = f"status={status}; message=Out of water"
    error = raised(kind, lambda: call(extra_headers=simulate(directives)))
    equal("status", error.status_code, status)
    contains("message", error.message, "Out of water")


@cases(**BOTH)
def the_wait_that_the_provider_wants_is_told(call):
    error = raised(
        openai.RateLimitError, lambda: call(extra_headers=simulate("status=429; retry_after=1"))
    )
    equal("retry-after", error.response.headers.get("retry-after"), "1")
    time.sleep(1.1)  # The channel is in cool-down for its Retry-After.


@cases(**BOTH)
def an_error_has_a_request_id(call):
    error = raised(openai.NotFoundError, lambda: call(model="demo-chap"))
    holds("there is a request id", bool(error.request_id))
    equal("header", error.request_id, error.response.headers.get("x-request-id"))


@cases(**BOTH)
def the_sdks_own_retry_succeeds(call):
    mark, headers = marked()
    headers |= simulate(f"status=429; retry_after=0; times=1; message={mark}")
    answer = call(openai_client(max_retries=2), extra_headers=headers)
    holds("an answer came", bool(answer.id))
    equal("requests at the provider", len(received(mark)), 2)


@cases(error_event=("error_event_after=3",), cut=("cut_after=3",))
def a_chat_stream_that_breaks_raises(directives):
    seen, error = until_broken(chat(stream=True, extra_headers=simulate(directives)))
    equal("exception", type(error), openai.APIError)
    holds("content came before", len(seen) >= 3, len(seen))
    holds("the error says why", bool(error.message), error)
    holds("no end was invented", all(chunk.choices[0].finish_reason is None for chunk in seen))


@cases(error_event=("error_event_after=3",), cut=("cut_after=3",))
def a_responses_stream_that_breaks_ends_with_an_error_event(directives):
    # This SDK returns the protocol's error event; it raises only for the broken connection after it.
    events, _ = until_broken(respond(stream=True, extra_headers=simulate(directives)))
    equal("last event", events[-1].type, "error")
    holds("the error says why", bool(events[-1].message), events[-1])
    equal("sequence numbers", [event.sequence_number for event in events], list(range(len(events))))
    holds("no end was invented", all(event.type != "response.completed" for event in events))


@cases(status_502=("html; status=502",), status_200=("html",))
def a_page_instead_of_an_answer_is_a_bad_gateway(directives):
    error = raised(openai.InternalServerError, lambda: chat(extra_headers=simulate(directives)))
    equal("status", error.status_code, 502)
    holds("the provider's page stays behind", "<html" not in str(error.body), error.body)
