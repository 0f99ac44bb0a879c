"""Tests of errors that the Anthropic SDK raises."""

import time

import anthropic

from demo import LARGE, QUESTION, SMALL, anthropic_client, marked, received, simulate
from runner import case, cases, contains, equal, holds, raised, until_broken

client = anthropic_client()
MESSAGES = [{"role": "user", "content": QUESTION}]
STATUSES = {
    400: (anthropic.BadRequestError, "invalid_request_error"),
    403: (anthropic.PermissionDeniedError, "permission_error"),
    413: (anthropic.ContentTooLargeError, "request_too_large"),
    429: (anthropic.RateLimitError, "rate_limit_error"),
    500: (anthropic.InternalServerError, "api_error"),
    503: (anthropic.ServiceUnavailableError, "overloaded_error"),
    529: (anthropic.OverloadedError, "overloaded_error"),
}


def send(client=client, model=SMALL, **options):
    return client.messages.create(**{"model": model, "max_tokens": 200, "messages": MESSAGES, **options})


@cases(
    api_key=(lambda: anthropic_client("sk-wrong"),),
    auth_token=(lambda: anthropic_client(None, auth_token="sk-wrong"),),
)
def a_wrong_key_is_an_authentication_error(client):
    error = raised(anthropic.AuthenticationError, lambda: send(client()))
    equal("status and type", (error.status_code, error.type), (401, "authentication_error"))
    contains("message", error.api_message, "key")
    holds("the key is not repeated", "sk-wrong" not in str(error.body), error.body)


@cases(
    create=(lambda model: send(model=model),),
    count=(lambda model: client.messages.count_tokens(model=model, messages=MESSAGES),),
)
def an_unknown_model_is_not_found_and_the_nearest_named(call):
    error = raised(anthropic.NotFoundError, lambda: call("demo-chap"))
    equal("status and type", (error.status_code, error.type), (404, "not_found_error"))
    contains("message", error.api_message, LARGE)


@cases(
    out_of_range=({"extra_body": {"temperature": 3}}, "temperature"),
    bad_role=({"messages": [{"role": "keeper", "content": "x"}]}, "role"),
    bad_tool_choice=({"extra_body": {"tool_choice": {"type": "tool"}}}, "tool_choice"),
)
def a_bad_parameter_is_named(options, name):
    error = raised(anthropic.BadRequestError, lambda: send(**options))
    equal("status and type", (error.status_code, error.type), (400, "invalid_request_error"))
    contains("message", error.api_message, name)


@cases(**{f"status_{status}": (status, *wanted) for status, wanted in STATUSES.items()})
def an_error_of_the_provider_is_raised_with_its_status(status, kind, type_):
    directives = f"status={status}; message=Out of water"
    error = raised(kind, lambda: send(extra_headers=simulate(directives)))
    equal("status and type", (error.status_code, error.type), (status, type_))
    contains("message", error.api_message, "Out of water")


@case
def the_wait_that_the_provider_wants_is_told():
    error = raised(
        anthropic.RateLimitError, lambda: send(extra_headers=simulate("status=429; retry_after=1"))
    )
    equal("retry-after", error.response.headers.get("retry-after"), "1")
    time.sleep(1.1)  # The channel is in cool-down for its Retry-After.


@case
def an_error_has_a_request_id():
    error = raised(anthropic.NotFoundError, lambda: send(model="demo-chap"))
    holds("there is a request id", bool(error.request_id))
    equal("request_id in the body", error.body.get("request_id"), error.request_id)


@case
def an_error_of_the_provider_has_the_gateways_request_id():
    error = raised(anthropic.InternalServerError, lambda: send(extra_headers=simulate("status=500")))
    holds("it is the gateway's own", (error.request_id or "req_sim_")[:8] != "req_sim_", error.request_id)


@case
def the_sdks_own_retry_succeeds():
    mark, headers = marked()
    headers |= simulate(f"status=529; times=1; message={mark}")
    message = send(anthropic_client(max_retries=2), extra_headers=headers)
    equal("stop_reason", message.stop_reason, "end_turn")
    equal("requests at the provider", len(received(mark)), 2)


@cases(
    error_event=("error_event_after=3; message=Out of water", "overloaded_error", "Out of water"),
    cut=("cut_after=3", "api_error", "connection"),
)
def a_stream_that_breaks_raises_the_error_events_type(directives, type_, message):
    seen, error = until_broken(send(stream=True, extra_headers=simulate(directives)))
    holds("it is an error of the API", isinstance(error, anthropic.APIStatusError), error)
    equal("type", error.type, type_)
    contains("message", error.api_message, message)
    equal("events before", [event.type for event in seen[:2]], ["message_start", "content_block_start"])
    holds("content came before", len(seen) >= 4, len(seen))
    holds("no end was invented", all(event.type != "message_stop" for event in seen))
