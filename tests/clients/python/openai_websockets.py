"""Tests of the responses protocol over a WebSocket with the OpenAI SDK."""

import asyncio
import json
import uuid

from openai.lib.responses_websocket import (
    AsyncResponsesWebSocketSession,
    ResponsesWebSocketError,
    ResponsesWebSocketLimits,
    ResponsesWebSocketSession,
)
from websockets.exceptions import InvalidStatus

from demo import (
    ABOUT_WEATHER,
    CITY_ARGUMENTS,
    CITY_SCHEMA,
    LARGE,
    QUESTION,
    async_openai_client,
    marked,
    openai_client,
    received,
    simulate,
)
from runner import case, cases, contains, equal, holds, raised

client = openai_client()
ASK = {"model": LARGE, "input": QUESTION}
NEXT_QUESTION = "And a sluice?"
WEATHER_TOOL = {"type": "function", "name": "get_weather", "parameters": CITY_SCHEMA, "strict": True}
NEVER_MADE = "resp_never_made_here"
LAST = ("response.completed", "response.failed", "response.incomplete", "response.steer.failed", "error")
WARM_UP_FRAME = ["response.created", "response.completed"]
LANES = ("first", "second")
# Enough for an order that is only usually right.
TRIES = 40
LIMITS = ResponsesWebSocketLimits(
    max_lanes=4, max_events_per_lane=256, max_events=512, max_bytes_per_lane=1 << 20, max_bytes=1 << 20
)


def turn(connection, **asked):
    """The events of the response to one request, up to its last one."""
    connection.response.create(**asked)
    return until_last(connection)


def until_last(connection):
    events = []
    for event in connection:
        events.append(event)
        if event.type in LAST:
            return events
    raise AssertionError(f"the connection ended after {len(events)} events")


async def async_turn(connection, **asked):
    await connection.response.create(**asked)
    events = []
    async for event in connection:
        events.append(event)
        if event.type in LAST:
            return events
    raise AssertionError(f"the connection ended after {len(events)} events")


def once(directives):
    """Request headers with directives for the first request of a WebSocket."""
    return simulate(f"{directives}; times=1; message=Out of water {uuid.uuid4().hex}")


def completed(events):
    equal("last event", events[-1].type, "response.completed")
    return events[-1].response


def same_events(events, streamed):
    """Checks that events of a WebSocket are those of a stream over HTTP, except for the ids."""
    equal("events", [event.type for event in events], [event.type for event in streamed])
    equal("sequence numbers", [event.sequence_number for event in events], list(range(len(events))))
    pieces = lambda events: [event.delta for event in events if event.type == "response.output_text.delta"]
    equal("pieces of the text", pieces(events), pieces(streamed))
    equal("final text", completed(events).output_text, completed(streamed).output_text)
    equal("final usage", completed(events).usage, completed(streamed).usage)
    equal("id", completed(events).id, events[0].response.id)


def bodies(mark):
    """What the provider received for the requests of one WebSocket."""
    return [json.loads(record["body"]) for record in received(mark)]


def words_of(item):
    """The author and the text of a message in an input."""
    content = item["content"]
    return item["role"], content if isinstance(content, str) else "".join(part["text"] for part in content)


@case
def a_turn_has_the_events_of_a_stream_over_http():
    streamed = list(client.responses.create(**ASK, stream=True))
    with client.responses.connect() as connection:
        same_events(turn(connection, **ASK), streamed)


@case
async def a_turn_of_the_asynchronous_client_has_the_events_of_a_stream_over_http():
    async with async_openai_client() as client:
        streamed = [event async for event in await client.responses.create(**ASK, stream=True)]
        async with client.responses.connect() as connection:
            same_events(await async_turn(connection, **ASK), streamed)


@case
def turns_that_are_not_stored_reach_the_provider_with_the_whole_conversation():
    mark, headers = marked()
    with client.responses.connect(extra_headers=headers) as connection:
        first = completed(turn(connection, **ASK, store=False))
        asked = {"model": LARGE, "input": NEXT_QUESTION, "store": False}
        second = completed(turn(connection, **asked, previous_response_id=first.id))
        completed(turn(connection, **{**asked, "input": "And a weir?"}, previous_response_id=second.id))
    _, of_second, of_third = bodies(mark)
    holds("no response is named", "previous_response_id" not in of_third, of_third)
    wanted = [("user", QUESTION), ("assistant", first.output_text), ("user", NEXT_QUESTION)]
    equal("second conversation", [words_of(item) for item in of_second["input"]], wanted)
    wanted += [("assistant", second.output_text), ("user", "And a weir?")]
    equal("third conversation", [words_of(item) for item in of_third["input"]], wanted)


@case
def a_turn_that_is_not_stored_begins_two_conversations():
    mark, headers = marked()
    with client.responses.connect(extra_headers=headers) as connection:
        first = completed(turn(connection, **ASK, store=False))
        for text in (NEXT_QUESTION, "And a weir?"):
            completed(turn(connection, model=LARGE, input=text, store=False, previous_response_id=first.id))
    begin = [("user", QUESTION), ("assistant", first.output_text)]
    for body, text in zip(bodies(mark)[1:], (NEXT_QUESTION, "And a weir?"), strict=True):
        equal("conversation", [words_of(item) for item in body["input"]], [*begin, ("user", text)])


@case
def a_stored_response_is_named_to_the_provider():
    mark, headers = marked()
    with client.responses.connect(extra_headers=headers) as connection:
        first = completed(turn(connection, **ASK))
        asked = {"model": LARGE, "input": NEXT_QUESTION, "previous_response_id": first.id}
        second = completed(turn(connection, **asked))
    equal("previous_response_id", second.previous_response_id, first.id)
    _, body = bodies(mark)
    equal("input", (body["previous_response_id"], body["input"]), (first.id, NEXT_QUESTION))
    equal("response over HTTP", client.responses.retrieve(second.id).output_text, second.output_text)


@case
def a_tool_is_called_and_only_its_result_sent():
    mark, headers = marked()
    given = [{"role": "user", "content": ABOUT_WEATHER}]
    asked = {"model": LARGE, "tools": [WEATHER_TOOL], "store": False}
    with client.responses.connect(extra_headers=headers) as connection:
        first = completed(turn(connection, **asked, input=given))
        (call,) = first.output
        equal("arguments", json.loads(call.arguments), CITY_ARGUMENTS)
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}
        second = completed(turn(connection, **asked, input=[result], previous_response_id=first.id))
    contains("text of the second turn", second.output_text, ABOUT_WEATHER)
    question, of_call, of_result = bodies(mark)[1]["input"]
    equal("question and result", [question, of_result], [*given, result])
    equal("call", (of_call["type"], of_call["call_id"]), ("function_call", call.call_id))


@case
def a_warm_up_reaches_the_provider_only_with_the_turn_after_it():
    mark, headers = marked()
    given = [{"type": "message", "role": "user", "content": QUESTION}]
    with client.responses.connect(extra_headers=headers) as connection:
        events = turn(connection, model=LARGE, input=given, generate=False, store=False)
        equal("events", [event.type for event in events], WARM_UP_FRAME)
        warm = completed(events)
        equal("output and tokens", (warm.output, warm.usage.total_tokens), ([], 0))
        equal("requests at the provider", received(mark), [])
        asked = {"model": LARGE, "input": NEXT_QUESTION, "store": False, "previous_response_id": warm.id}
        response = completed(turn(connection, **asked))
    contains("text", response.output_text, NEXT_QUESTION)
    (body,) = bodies(mark)
    wanted = [("user", QUESTION), ("user", NEXT_QUESTION)]
    equal("conversation", [words_of(item) for item in body["input"]], wanted)
    holds("nothing of the warm-up arrived", "generate" not in body, body)


@case
def an_unknown_model_is_an_error_in_band_that_leaves_the_connection_usable():
    with client.responses.connect() as connection:
        (event,) = turn(connection, model="demo-chap", input=QUESTION)
        equal("event and status", (event.type, event.status), ("error", 404))
        equal("code and param", (event.error.code, event.error.param), ("model_not_found", "model"))
        contains("message", event.error.message, LARGE)
        holds("there is a request id", event.headers["x-request-id"], event.headers)
        completed(turn(connection, **ASK))


@case
def a_parameter_out_of_range_is_named():
    with client.responses.connect() as connection:
        (event,) = turn(connection, **ASK, temperature=3)
        equal("event and status", (event.type, event.status), ("error", 400))
        equal("param", event.error.param, "temperature")
        completed(turn(connection, **ASK))


@case
def an_error_of_the_provider_comes_in_band_with_its_status():
    with client.responses.connect(extra_headers=once("status=422")) as connection:
        (event,) = turn(connection, **ASK)
        equal("event and status", (event.type, event.status), ("error", 422))
        contains("message", event.error.message, "Out of water")
        completed(turn(connection, **ASK))


@cases(error_event=("error_event_after=3",), cut=("cut_after=3",), end=("end_after_events=6",))
def a_response_that_breaks_ends_with_an_error_in_band(directives):
    with client.responses.connect(extra_headers=once(directives)) as connection:
        events = turn(connection, **ASK)
        equal("last event", events[-1].type, "error")
        holds("content came before", len(events) > 3, len(events))
        holds("the error says why", events[-1].error.message, events[-1])
        completed(turn(connection, **ASK))


@cases(stored=({},), not_stored=({"store": False},))
def a_previous_response_that_was_never_made_is_not_found(fields):
    with client.responses.connect() as connection:
        (event,) = turn(connection, **ASK, **fields, previous_response_id=NEVER_MADE)
        equal("event", event.type, "error")
        wanted = ("previous_response_not_found", "previous_response_id")
        equal("code and param", (event.error.code, event.error.param), wanted)
        completed(turn(connection, **ASK))


@case
def a_response_that_was_not_stored_is_unknown_to_another_connection():
    with client.responses.connect() as connection:
        first = completed(turn(connection, **ASK, store=False))
    with client.responses.connect() as connection:
        (event,) = turn(connection, **ASK, store=False, previous_response_id=first.id)
        equal("event and code", (event.type, event.error.code), ("error", "previous_response_not_found"))


@case
def steering_is_refused_and_its_input_returned():
    with client.responses.connect() as connection:
        first = completed(turn(connection, **ASK, store=False))
        connection.response.steer(input=NEXT_QUESTION, previous_response_id=first.id)
        event = connection.recv()
        equal("event and code", (event.type, event.error.code), ("response.steer.failed", "steering_not_supported"))
        wanted = (first.id, NEXT_QUESTION)
        equal("steer", (event.steer.previous_response_id, event.steer.input), wanted)
        completed(turn(connection, **ASK))


@case
def a_wrong_key_is_refused_at_the_upgrade():
    error = raised(InvalidStatus, openai_client("sk-wrong").responses.connect().enter)
    equal("status", error.response.status_code, 401)
    equal("code", json.loads(error.response.body)["error"]["code"], "invalid_api_key")
    holds("the key is not repeated", b"sk-wrong" not in error.response.body, error.response.body)


@case
def requests_of_one_lane_are_answered_one_after_the_other():
    with client.responses.connect() as connection:
        for text in (QUESTION, NEXT_QUESTION):
            connection.response.create(model=LARGE, input=text)
        for text in (QUESTION, NEXT_QUESTION):
            events = until_last(connection)
            equal("first event", events[0].type, "response.created")
            contains("text", completed(events).output_text, text)


@case
def a_request_that_continues_a_running_response_waits_for_it():
    with client.responses.connect() as connection:
        for _ in range(TRIES):
            connection.response.create(**ASK, store=False)
            first = connection.recv().response.id
            asked = {"model": LARGE, "input": NEXT_QUESTION, "store": False, "previous_response_id": first}
            connection.response.create(**asked)
            completed(until_last(connection))
            completed(until_last(connection))


@case
def a_warm_up_behind_a_running_response_waits_for_its_last_event():
    with client.responses.connect() as connection:
        for _ in range(TRIES):
            connection.response.create(**ASK)
            connection.response.create(**ASK, generate=False)
            completed(until_last(connection))
            equal("events", [event.type for event in until_last(connection)], WARM_UP_FRAME)


@case
def two_lanes_stream_at_the_same_time():
    with client.responses.connect(extra_headers=simulate("pace=20ms")) as connection:
        for lane in LANES:
            connection.response.create(model=LARGE, input=f"{QUESTION} {lane}", stream_id=lane)
        events, open_lanes = [], set(LANES)
        while open_lanes:
            events.append(event := connection.recv())
            if event.type in LAST:
                open_lanes.discard(event.stream_id)
    for lane in LANES:
        of_lane = [event for event in events if event.stream_id == lane]
        contains("text", completed(of_lane).output_text, f"{QUESTION} {lane}")
        equal("sequence numbers", [event.sequence_number for event in of_lane], list(range(len(of_lane))))
    kinds = [(event.stream_id, event.type) for event in events]
    begun = [kinds.index((lane, "response.created")) for lane in LANES]
    ended = [kinds.index((lane, "response.completed")) for lane in LANES]
    holds("both begin before one ends", max(begun) < min(ended), kinds)


@case
def the_session_helper_collects_both_lanes():
    with (
        client.responses.connect() as connection,
        ResponsesWebSocketSession(connection, limits=LIMITS) as session,
    ):
        lanes = [session.lane(name) for name in LANES]
        for lane, name in zip(lanes, LANES):
            lane.send({"type": "response.create", "model": LARGE, "input": f"{QUESTION} {name}", "store": False})
        finals = [lane.get_final_response(timeout=20) for lane in lanes]
        for final, name in zip(finals, LANES):
            contains("text", final.output_text, f"{QUESTION} {name}")
        asked = {"type": "response.create", "model": LARGE, "input": NEXT_QUESTION, "store": False}
        lanes[1].send({**asked, "previous_response_id": finals[0].id})
        contains("text of the next turn", lanes[1].get_final_response(timeout=20).output_text, NEXT_QUESTION)


@case
async def the_asynchronous_session_helper_collects_both_lanes():
    async def final(session, name):
        lane = session.lane(name)
        await lane.send({"type": "response.create", "model": LARGE, "input": f"{QUESTION} {name}"})
        return await lane.get_final_response()

    async with async_openai_client() as client, client.responses.connect() as connection:
        async with AsyncResponsesWebSocketSession(connection, limits=LIMITS) as session:
            finals = await asyncio.gather(*(final(session, name) for name in LANES))
    for response, name in zip(finals, LANES):
        contains("text", response.output_text, f"{QUESTION} {name}")


@case
def the_session_helper_raises_the_error_of_one_lane_alone():
    with (
        client.responses.connect() as connection,
        ResponsesWebSocketSession(connection, limits=LIMITS) as session,
    ):
        good, bad = (session.lane(name) for name in LANES)
        good.send({"type": "response.create", **ASK})
        bad.send({"type": "response.create", "model": "demo-chap", "input": QUESTION})
        error = raised(ResponsesWebSocketError, lambda: bad.get_final_response(timeout=20))
        equal("code and lane", (error.event.error.code, error.event.stream_id), ("model_not_found", LANES[1]))
        contains("text", good.get_final_response(timeout=20).output_text, QUESTION)
