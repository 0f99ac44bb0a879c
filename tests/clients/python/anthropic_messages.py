"""Tests of the messages protocol with the Anthropic SDK."""

import json

import pydantic

from demo import (
    ABOUT_WEATHER,
    CITY_ARGUMENTS,
    CITY_SCHEMA,
    LARGE,
    PDF,
    PNG,
    QUESTION,
    anthropic_client,
    async_anthropic_client,
    marked,
    received_body,
)
from runner import case, cases, contains, equal, holds

client = anthropic_client()
ASK = {"model": LARGE, "max_tokens": 2000, "messages": [{"role": "user", "content": QUESTION}]}
WEATHER_TOOL = {"name": "get_weather", "description": "Weather of a city", "input_schema": CITY_SCHEMA}
ASK_WEATHER = {**ASK, "tools": [WEATHER_TOOL], "messages": [{"role": "user", "content": ABOUT_WEATHER}]}
THINKING = {"type": "enabled", "budget_tokens": 1024}


class City(pydantic.BaseModel):
    city: str


def deltas(events, kind):
    found = [event.delta for event in events if event.type == "content_block_delta"]
    return [delta for delta in found if delta.type == kind]


@cases(api_key=(anthropic_client(),), auth_token=(anthropic_client(None, auth_token="sk-demo"),))
def a_message_has_text_a_reason_and_usage(client):
    message = client.messages.create(**ASK)
    equal("type and role", (message.type, message.role), ("message", "assistant"))
    holds("the id has its prefix", message.id.startswith("msg_"), message.id)
    contains("text", message.content[0].text, QUESTION)
    equal("stop_reason", message.stop_reason, "end_turn")
    holds("tokens are counted", message.usage.input_tokens > 0 and message.usage.output_tokens > 0)


@case
def a_stream_has_its_events_in_order_and_the_text_of_the_whole():
    whole = client.messages.create(**ASK)
    events = list(client.messages.create(**ASK, stream=True))
    pieces = deltas(events, "text_delta")
    wanted = [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * len(pieces),
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    equal("events", [event.type for event in events], wanted)
    holds("there are many pieces", len(pieces) > 5, len(pieces))
    equal("text", "".join(piece.text for piece in pieces), whole.content[0].text)
    start, delta = events[0].message, events[-2]
    equal("stop_reason at the start", start.stop_reason, None)
    equal("input tokens", start.usage.input_tokens, whole.usage.input_tokens)
    equal("stop_reason", delta.delta.stop_reason, "end_turn")
    equal("output tokens", delta.usage.output_tokens, whole.usage.output_tokens)


@case
def the_stream_accumulator_ends_with_the_whole_message():
    whole = client.messages.create(**ASK)
    with client.messages.stream(**ASK) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    equal("text", text, whole.content[0].text)
    equal("final text", final.content[0].text, text)
    equal("output tokens", final.usage.output_tokens, whole.usage.output_tokens)


@case
async def the_asynchronous_client_streams_the_same_text():
    async with async_anthropic_client() as client:
        whole = await client.messages.create(**ASK)
        async with client.messages.stream(**ASK) as stream:
            pieces = [piece async for piece in stream.text_stream]
    equal("text", "".join(pieces), whole.content[0].text)


@case
def a_token_limit_cuts_the_text_short():
    message = client.messages.create(**{**ASK, "max_tokens": 5})
    equal("stop_reason", message.stop_reason, "max_tokens")
    equal("output_tokens", message.usage.output_tokens, 5)


@case
def a_tool_is_called_and_its_result_answered():
    first = client.messages.create(**ASK_WEATHER)
    equal("stop_reason", first.stop_reason, "tool_use")
    call = first.content[-1]
    equal("tool", (call.type, call.name, call.input), ("tool_use", "get_weather", CITY_ARGUMENTS))
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "21 degrees"}
    turns = [
        *ASK_WEATHER["messages"],
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    second = client.messages.create(**{**ASK_WEATHER, "messages": turns})
    equal("stop_reason of the second turn", second.stop_reason, "end_turn")
    contains("text", second.content[0].text, ABOUT_WEATHER)


@case
def a_tool_call_streams_in_pieces():
    with client.messages.stream(**ASK_WEATHER) as stream:
        events = list(stream)
        final = stream.get_final_message()
    pieces = deltas(events, "input_json_delta")
    holds("the input comes in pieces", len(pieces) > 2, len(pieces))
    equal("input", json.loads("".join(piece.partial_json for piece in pieces)), CITY_ARGUMENTS)
    equal("accumulated input", final.content[0].input, CITY_ARGUMENTS)
    equal("stop_reason", final.stop_reason, "tool_use")


@cases(
    any=({"type": "any"}, {"type": "any"}),
    tool=({"type": "tool", "name": "get_weather"}, {"type": "tool", "name": "get_weather"}),
    bare_word=("any", {"type": "any"}),
)
def a_forced_tool_choice_reaches_the_provider_as_an_object(choice, object_form):
    mark, headers = marked()
    message = client.messages.create(
        **ASK, tools=[WEATHER_TOOL], extra_body={"tool_choice": choice}, extra_headers=headers
    )
    equal("stop_reason", message.stop_reason, "tool_use")
    equal("tool_choice", received_body(mark)["tool_choice"], object_form)


@case
def structured_output_is_parsed():
    message = client.messages.parse(**ASK, output_format=City)
    equal("parsed", message.parsed_output, City(**CITY_ARGUMENTS))


@cases(enabled=(THINKING,), adaptive=({"type": "adaptive"},))
def a_thought_comes_before_the_text(thinking):
    message = client.messages.create(**ASK, thinking=thinking)
    thought, text = message.content
    equal("blocks", (thought.type, text.type), ("thinking", "text"))
    holds("the thought is signed", bool(thought.thinking and thought.signature))
    contains("text", text.text, QUESTION)
    turns = [
        *ASK["messages"],
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": "And a sluice?"},
    ]
    mark, headers = marked()
    client.messages.create(**{**ASK, "messages": turns}, thinking=thinking, extra_headers=headers)
    returned = received_body(mark)["messages"][1]["content"][0]
    equal("signature sent back", returned["signature"], thought.signature)


@case
def a_thought_streams_in_pieces_and_is_signed():
    whole = client.messages.create(**ASK, thinking=THINKING)
    events = list(client.messages.create(**ASK, thinking=THINKING, stream=True))
    starts = [(e.index, e.content_block.type) for e in events if e.type == "content_block_start"]
    equal("blocks", starts, [(0, "thinking"), (1, "text")])
    thought = "".join(delta.thinking for delta in deltas(events, "thinking_delta"))
    equal("thought", thought, whole.content[0].thinking)
    (signed,) = deltas(events, "signature_delta")
    equal("signature", signed.signature, whole.content[0].signature)


@case
def cache_marks_reach_the_provider_and_cache_usage_the_caller():
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    tool = {**WEATHER_TOOL, "cache_control": {"type": "ephemeral"}}
    mark, headers = marked()
    message = client.messages.create(**ASK, system=system, tools=[tool], extra_headers=headers)
    body = received_body(mark)
    equal("system", body["system"], system)
    equal("tool", body["tools"], [tool])
    usage = message.usage
    equal("read", usage.cache_read_input_tokens, 0)
    equal("created", usage.cache_creation_input_tokens, 0)
    split = usage.cache_creation
    equal("split", (split.ephemeral_5m_input_tokens, split.ephemeral_1h_input_tokens), (0, 0))


@case
def images_and_documents_reach_the_provider_unchanged():
    content = [
        {"type": "text", "text": QUESTION},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
    ]
    turns = [{"role": "user", "content": content}]
    mark, headers = marked()
    message = client.messages.create(**{**ASK, "messages": turns}, extra_headers=headers)
    contains("text", message.content[0].text, QUESTION)
    equal("messages", received_body(mark)["messages"], turns)


@case
def tokens_are_counted_as_the_message_counts_them():
    message = client.messages.create(**ASK)
    counted = client.messages.count_tokens(model=LARGE, messages=ASK["messages"])
    equal("input_tokens", counted.input_tokens, message.usage.input_tokens)


@case
def every_setting_is_taken():
    message = client.messages.create(
        **ASK,
        system="Be brief.",
        stop_sequences=["END"],
        metadata={"user_id": "user-1"},
        service_tier="auto",
        output_config={"effort": "low"},
        # Only older versions of this SDK have these.
        extra_body={"temperature": 1.0, "top_p": 0.9, "top_k": 40},
    )
    contains("text", message.content[0].text, QUESTION)


@case
def a_beta_call_is_a_message_too():
    message = client.beta.messages.create(**ASK, betas=["context-management-2025-06-27"])
    contains("text", message.content[0].text, QUESTION)
