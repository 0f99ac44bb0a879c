"""Tests of client behaviour beyond the protocols: keys in other places, mistakes, new fields, upgrades."""

import anthropic
import openai
import websocket

from demo import (
    BASE_URL,
    IMAGE,
    KEY,
    QUESTION,
    SMALL,
    anthropic_client,
    marked,
    metric,
    openai_client,
    received,
    received_body,
    until,
)
from runner import case, cases, contains, equal, holds, raised

MESSAGES = [{"role": "user", "content": QUESTION}]
ASK = {"model": SMALL, "messages": MESSAGES}

client = openai_client()
anthropic_sdk = anthropic_client()


@cases(
    api_key=({"api-key": KEY}, {}),
    apikey=({"apikey": "sk-other"}, {}),
    x_authorization=({"x-authorization": f"Bearer {KEY}"}, {}),
    subscription=({"ocp-apim-subscription-key": "sk-other"}, {}),
    workspace=({"X-DashScope-WorkSpace": "sk-other"}, {}),
    under_another_name=({"x-mine": KEY}, {}),
    query_key=({}, {"key": "sk-other"}),
    query_api_key=({}, {"api_key": KEY}),
    query_token=({}, {"access_token": "sk-other"}),
)
def a_key_in_another_place_goes_to_no_provider(headers, query):
    mark, marks = marked()
    client.chat.completions.create(**ASK, extra_headers={**marks, **headers}, extra_query=query)
    (record,) = received(mark)
    holds("no key arrived", all(key not in str(record) for key in (KEY, "sk-other")), record)


@cases(utf8=("utf8",), upper=("UTF8",), quoted=('"utf-8"',))
def a_charset_of_utf8_is_taken_in_every_spelling(charset):
    headers = {"content-type": f"application/json; charset={charset}"}
    holds("an answer came", client.chat.completions.create(**ASK, extra_headers=headers).id)


@case
def a_preview_of_computer_use_passes():
    mark, headers = marked()
    tool = {"type": "computer_use_preview", "environment": "browser", "display_width": 800, "display_height": 600}
    client.responses.create(
        model=SMALL, input=QUESTION, tools=[tool], truncation="auto", extra_headers=headers
    )
    equal("tools", received_body(mark)["tools"], [tool])


@cases(
    messages=("/chat/completions", {"model": SMALL}, "messages"),
    model=("/chat/completions", {"messages": MESSAGES}, "model"),
    role=("/chat/completions", {"model": SMALL, "messages": [{"content": "x"}]}, "messages[0].role"),
    input=("/responses", {"model": SMALL}, "input"),
    prompt=("/images/edits", {"model": IMAGE, "images": [{"image_url": "https://x.example/a.png"}]}, "prompt"),
)
def a_missing_field_is_named(path, body, param):
    error = raised(openai.BadRequestError, lambda: client.post(path, body=body, cast_to=object))
    equal("code and param", (error.code, error.param), ("missing_required_parameter", param))
    contains("message", error.message, param)


@cases(
    messages=({"model": SMALL, "max_tokens": 9}, "`messages`"),
    role=({"model": SMALL, "max_tokens": 9, "messages": [{"content": "x"}]}, "`messages.0.role`"),
)
def a_missing_field_of_the_messages_protocol_is_named(body, field):
    post = lambda: anthropic_sdk.post("/v1/messages", body=body, cast_to=object)
    error = raised(anthropic.BadRequestError, post)
    equal("type", error.type, "invalid_request_error")
    contains("message", error.api_message, f"missing required field {field}")


@cases(
    effort=({"output_config": {"effort": "ultra"}},),
    thinking=({"thinking": {"type": "interleaved", "display": "terse"}},),
    cache=({"cache_control": {"type": "ephemeral", "ttl": "24h"}},),
    tool_choice=({"tool_choice": {"type": "required"}, "tools": [{"name": "f", "input_schema": {"type": "object"}}]},),
)
def newer_words_pass(fields):
    mark, headers = marked()
    anthropic_sdk.messages.create(**ASK, max_tokens=9, extra_body=fields, extra_headers=headers)
    body = received_body(mark)
    equal("fields", {name: body[name] for name in fields}, fields)


@case
def what_cannot_get_better_is_not_to_be_repeated():
    for kind, call in [
        (openai.AuthenticationError, lambda: openai_client("sk-wrong").chat.completions.create(**ASK)),
        (openai.NotFoundError, lambda: client.chat.completions.create(model="none", messages=MESSAGES)),
        (openai.BadRequestError, lambda: client.chat.completions.create(model=SMALL, messages=[])),
        (anthropic.AuthenticationError, lambda: anthropic_client("sk-wrong").messages.create(**ASK, max_tokens=9)),
    ]:
        error = raised(kind, call)
        equal("x-should-retry", error.response.headers.get("x-should-retry"), "false")
    contains("message", error.api_message, "Incorrect API key provided")


@case
def a_model_of_another_endpoint_is_told_with_it():
    error = raised(openai.NotFoundError, lambda: client.chat.completions.create(model=IMAGE, messages=MESSAGES))
    contains("message", error.message, "POST /v1/images/edits")


@case
def a_base_url_without_its_version_is_told_the_path():
    bare = openai_client(base_url=BASE_URL)
    error = raised(openai.NotFoundError, lambda: bare.chat.completions.create(**ASK))
    contains("message", error.message, "/v1/chat/completions")


@case
def a_websocket_is_told_at_once_to_post():
    url = BASE_URL.replace("http", "ws", 1) + "/v1/messages"
    connect = lambda: websocket.create_connection(url, header=[f"Authorization: Bearer {KEY}"], timeout=10)
    error = raised(websocket.WebSocketBadStatusException, connect)
    equal("status", error.status_code, 426)
    equal("x-should-retry", error.resp_headers["x-should-retry"], "false")
    equal("upgrade", error.resp_headers["upgrade"], "HTTP/1.1")
    contains("body", error.resp_body.decode(), "POST")


@case
def a_stream_that_did_not_ask_for_usage_is_counted():
    tokens = lambda: metric("headgate_tokens_total")
    before = tokens()
    chunks = list(client.chat.completions.create(**ASK, stream=True))
    holds("no usage", all(chunk.usage is None for chunk in chunks))
    until("tokens are counted", lambda: tokens() > before)
