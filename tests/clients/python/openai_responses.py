"""Tests of the responses protocol with the OpenAI SDK."""

import json
import time

import openai
import pydantic

from demo import (
    ABOUT_WEATHER,
    CITY_ARGUMENTS,
    CITY_SCHEMA,
    LARGE,
    PNG,
    QUESTION,
    async_openai_client,
    marked,
    openai_client,
    received_body,
)
from runner import case, cases, contains, equal, holds, raised

client = openai_client()
ASK = {"model": LARGE, "input": QUESTION}
WEATHER_TOOL = {"type": "function", "name": "get_weather", "parameters": CITY_SCHEMA, "strict": True}
ASK_WEATHER = {"model": LARGE, "tools": [WEATHER_TOOL]}
WEATHER_INPUT = [{"role": "user", "content": ABOUT_WEATHER}]
NEVER_MADE = "resp_never_made_here"
STREAM_FRAME = (
    ["response.created", "response.in_progress", "response.output_item.added"],
    ["response.output_item.done", "response.completed"],
)


class City(pydantic.BaseModel):
    city: str


@case
def a_response_has_text_a_status_and_usage():
    response = client.responses.create(**ASK)
    equal("object", response.object, "response")
    equal("status", response.status, "completed")
    contains("text", response.output_text, QUESTION)
    usage = response.usage
    holds("tokens are counted", usage.input_tokens > 0 and usage.output_tokens > 0, usage)
    equal("total_tokens", usage.total_tokens, usage.input_tokens + usage.output_tokens)


@case
def a_stream_has_its_events_in_order_and_the_text_of_the_whole():
    whole = client.responses.create(**ASK)
    events = list(client.responses.create(**ASK, stream=True))
    kinds = [event.type for event in events]
    begin, end = STREAM_FRAME
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    wanted = [
        *begin,
        "response.content_part.added",
        *["response.output_text.delta"] * len(deltas),
        "response.output_text.done",
        "response.content_part.done",
        *end,
    ]
    equal("events", kinds, wanted)
    holds("there are many pieces", len(deltas) > 5, len(deltas))
    equal("sequence numbers", [event.sequence_number for event in events], list(range(len(events))))
    equal("text", "".join(event.delta for event in deltas), whole.output_text)
    final = events[-1].response
    equal("final text", final.output_text, whole.output_text)
    equal("final usage", final.usage, whole.usage)
    equal("id", final.id, events[0].response.id)


@case
def the_stream_accumulator_ends_with_the_whole_response():
    whole = client.responses.create(**ASK)
    with client.responses.stream(**ASK) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    equal("text", final.output_text, whole.output_text)


@case
async def the_asynchronous_client_streams_the_same_text():
    async with async_openai_client() as client:
        whole = await client.responses.create(**ASK)
        stream = await client.responses.create(**ASK, stream=True)
        pieces = [event.delta async for event in stream if event.type == "response.output_text.delta"]
    equal("text", "".join(pieces), whole.output_text)


@case
def a_token_limit_leaves_the_response_incomplete():
    response = client.responses.create(**ASK, max_output_tokens=16)
    equal("status", response.status, "incomplete")
    equal("reason", response.incomplete_details.reason, "max_output_tokens")


@case
def a_tool_is_called_and_its_result_answered():
    first = client.responses.create(**ASK_WEATHER, input=WEATHER_INPUT)
    (call,) = first.output
    equal("item", (call.type, call.name), ("function_call", "get_weather"))
    equal("arguments", json.loads(call.arguments), CITY_ARGUMENTS)
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}
    second = client.responses.create(**ASK_WEATHER, input=[*WEATHER_INPUT, call, result])
    contains("text of the second turn", second.output_text, ABOUT_WEATHER)


@case
def a_tool_call_streams_in_pieces():
    events = list(client.responses.create(**ASK_WEATHER, input=WEATHER_INPUT, stream=True))
    deltas = [event for event in events if event.type == "response.function_call_arguments.delta"]
    holds("arguments come in pieces", len(deltas) > 2, len(deltas))
    equal("arguments", json.loads("".join(event.delta for event in deltas)), CITY_ARGUMENTS)
    begin, end = STREAM_FRAME
    kinds = [event.type for event in events]
    equal("first events", kinds[:3], begin)
    equal("last events", kinds[-3:], ["response.function_call_arguments.done", *end])
    equal("function", events[-1].response.output[0].name, "get_weather")


@case
def structured_output_is_parsed():
    response = client.responses.parse(**ASK, text_format=City)
    equal("parsed", response.output_parsed, City(**CITY_ARGUMENTS))


@case
def an_image_reaches_the_provider_unchanged():
    content = [
        {"type": "input_text", "text": QUESTION},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
    ]
    given = [{"role": "user", "content": content}]
    mark, headers = marked()
    response = client.responses.create(model=LARGE, input=given, extra_headers=headers)
    contains("text", response.output_text, QUESTION)
    equal("input", received_body(mark)["input"], given)


@case
def a_second_turn_names_the_first_by_its_id():
    first = client.responses.create(**ASK)
    second = client.responses.create(model=LARGE, input="And a sluice?", previous_response_id=first.id)
    equal("previous_response_id", second.previous_response_id, first.id)
    contains("text", second.output_text, "And a sluice?")
    third = client.responses.create(model=LARGE, input="And a weir?", previous_response_id=second.id)
    equal("previous_response_id", third.previous_response_id, second.id)


@case
def a_streamed_response_can_be_continued():
    events = list(client.responses.create(**ASK, stream=True))
    first = events[-1].response.id
    second = client.responses.create(model=LARGE, input="And a sluice?", previous_response_id=first)
    equal("previous_response_id", second.previous_response_id, first)


@case
def a_response_is_retrieved_listed_and_deleted():
    made = client.responses.create(**ASK)
    again = client.responses.retrieve(made.id)
    equal("response", again, made)
    (item,) = client.responses.input_items.list(made.id).data
    equal("input item", (item.role, item.content[0].text), ("user", QUESTION))
    client.responses.delete(made.id)
    error = raised(openai.NotFoundError, lambda: client.responses.retrieve(made.id))
    equal("status", error.status_code, 404)


@case
def a_request_is_counted_and_a_conversation_compacted():
    counted = client.responses.input_tokens.count(**ASK)
    compacted = client.responses.compact(**ASK)
    equal("object of the count", counted.object, "response.input_tokens")
    equal("object of the compaction", compacted.object, "response.compaction")
    equal("items", [item.type for item in compacted.output], ["compaction"])
    equal("tokens", compacted.usage.input_tokens, counted.input_tokens)


@case
def a_background_response_is_cancelled():
    made = client.responses.create(**ASK, background=True)
    equal("status", made.status, "queued")
    equal("output", made.output, [])
    equal("status after cancel", client.responses.cancel(made.id).status, "cancelled")
    equal("status retrieved", client.responses.retrieve(made.id).status, "cancelled")


@case
def a_background_response_is_completed_in_time():
    made = client.responses.create(**ASK, background=True)
    deadline = time.monotonic() + 10
    response = made
    while response.status in ("queued", "in_progress") and time.monotonic() < deadline:
        time.sleep(0.2)
        response = client.responses.retrieve(made.id)
    equal("status", response.status, "completed")
    contains("text", response.output_text, QUESTION)


@cases(
    retrieve=(lambda: client.responses.retrieve(NEVER_MADE),),
    delete=(lambda: client.responses.delete(NEVER_MADE),),
    cancel=(lambda: client.responses.cancel(NEVER_MADE),),
    input_items=(lambda: client.responses.input_items.list(NEVER_MADE),),
    continue_=(lambda: client.responses.create(**ASK, previous_response_id=NEVER_MADE),),
)
def a_response_that_was_never_made_here_is_not_found(call):
    error = raised(openai.NotFoundError, call)
    equal("status", error.status_code, 404)
    holds("the error says so", "response" in error.message, error.message)


@case
def an_unknown_previous_response_is_named_as_the_parameter():
    error = raised(
        openai.NotFoundError, lambda: client.responses.create(**ASK, previous_response_id=NEVER_MADE)
    )
    equal("param", error.param, "previous_response_id")
