"""Tests of chat completions with the OpenAI SDK."""

import json

import pydantic

from demo import (
    ABOUT_WEATHER,
    CITY_ARGUMENTS,
    CITY_SCHEMA,
    LARGE,
    PNG,
    QUESTION,
    SMALL,
    async_openai_client,
    marked,
    openai_client,
    received_body,
    simulate,
)
from runner import case, contains, equal, holds

client = openai_client()
ASK = {"model": LARGE, "messages": [{"role": "user", "content": QUESTION}]}
WEATHER_TOOL = {
    "type": "function",
    "function": {"name": "get_weather", "description": "Weather of a city", "parameters": CITY_SCHEMA},
}
ASK_WEATHER = {"model": LARGE, "tools": [WEATHER_TOOL], "messages": [{"role": "user", "content": ABOUT_WEATHER}]}


class City(pydantic.BaseModel):
    city: str


def text_of(completion):
    return completion.choices[0].message.content


@case
def a_completion_has_text_a_reason_and_usage():
    completion = client.chat.completions.create(**ASK)
    equal("object", completion.object, "chat.completion")
    equal("role", completion.choices[0].message.role, "assistant")
    contains("text", text_of(completion), QUESTION)
    equal("finish_reason", completion.choices[0].finish_reason, "stop")
    usage = completion.usage
    holds("tokens are counted", usage.prompt_tokens > 0 and usage.completion_tokens > 0, usage)
    equal("total_tokens", usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)


@case
def a_stream_has_its_chunks_in_order_and_the_text_of_the_whole():
    whole = client.chat.completions.create(**ASK)
    chunks = list(client.chat.completions.create(**ASK, stream=True, stream_options={"include_usage": True}))
    *content, finish, usage = chunks
    equal("first role", content[0].choices[0].delta.role, "assistant")
    holds("there are many chunks", len(content) > 5, len(content))
    holds("one id", len({chunk.id for chunk in chunks}) == 1)
    holds("no early reason", all(chunk.choices[0].finish_reason is None for chunk in content))
    equal("finish_reason", finish.choices[0].finish_reason, "stop")
    equal("text", "".join(chunk.choices[0].delta.content or "" for chunk in content), text_of(whole))
    equal("choices of the usage chunk", usage.choices, [])
    equal("usage", usage.usage, whole.usage)
    holds("usage comes once", all(chunk.usage is None for chunk in chunks[:-1]))


@case
def a_stream_that_did_not_ask_for_usage_gets_none():
    chunks = list(client.chat.completions.create(**ASK, stream=True))
    holds("every chunk has its choice", all(len(chunk.choices) == 1 for chunk in chunks))
    holds("no usage", all(chunk.usage is None for chunk in chunks))
    equal("finish_reason", chunks[-1].choices[0].finish_reason, "stop")


@case
def the_stream_accumulator_ends_with_the_whole_completion():
    whole = client.chat.completions.create(**ASK)
    with client.chat.completions.stream(**ASK) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_completion()
    holds("content comes in pieces", kinds.count("content.delta") > 5, kinds[:8])
    equal("content.done events", kinds.count("content.done"), 1)
    equal("text", text_of(final), text_of(whole))


@case
async def the_asynchronous_client_streams_the_same_text():
    async with async_openai_client() as client:
        whole = await client.chat.completions.create(**ASK)
        stream = await client.chat.completions.create(**ASK, stream=True)
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
    equal("text", "".join(pieces), text_of(whole))


@case
def a_long_text_in_many_scripts_streams_whole():
    question = "Grüße aus 東京 \N{WAVING HAND SIGN}, wie geht es?"
    ask = {**ASK, "messages": [{"role": "user", "content": question}]}
    headers = simulate("body_bytes=200000; event_bytes=97")
    whole = client.chat.completions.create(**ask, extra_headers=headers)
    chunks = client.chat.completions.create(**ask, extra_headers=headers, stream=True)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    contains("text", text, question)
    holds("it is the text of the whole", text == text_of(whole))
    equal("bytes of text", len(text.encode()), 200_000)


@case
def several_choices_come_back():
    completion = client.chat.completions.create(**ASK, n=3)
    equal("indices", [choice.index for choice in completion.choices], [0, 1, 2])


@case
def a_token_limit_cuts_the_text_short():
    completion = client.chat.completions.create(**ASK, max_completion_tokens=5)
    equal("finish_reason", completion.choices[0].finish_reason, "length")
    equal("completion_tokens", completion.usage.completion_tokens, 5)


@case
def a_tool_is_called_and_its_result_answered():
    first = client.chat.completions.create(**ASK_WEATHER)
    equal("finish_reason", first.choices[0].finish_reason, "tool_calls")
    (call,) = first.choices[0].message.tool_calls
    equal("function", call.function.name, "get_weather")
    equal("arguments", json.loads(call.function.arguments), CITY_ARGUMENTS)
    result = {"role": "tool", "tool_call_id": call.id, "content": "21 degrees"}
    messages = [*ASK_WEATHER["messages"], first.choices[0].message, result]
    second = client.chat.completions.create(**{**ASK_WEATHER, "messages": messages})
    equal("finish_reason of the second turn", second.choices[0].finish_reason, "stop")
    contains("text", text_of(second), ABOUT_WEATHER)


@case
def a_tool_call_streams_in_pieces():
    chunks = list(client.chat.completions.create(**ASK_WEATHER, stream=True))
    deltas = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
    equal("function", deltas[0].function.name, "get_weather")
    holds("the call has an id", bool(deltas[0].id))
    holds("arguments come in pieces", len(deltas) > 2, len(deltas))
    equal("arguments", json.loads("".join(delta.function.arguments for delta in deltas)), CITY_ARGUMENTS)
    equal("finish_reason", chunks[-1].choices[0].finish_reason, "tool_calls")


@case
def a_tool_can_be_forced_and_forbidden():
    plain = {**ASK, "tools": [WEATHER_TOOL]}
    choice = {"type": "function", "function": {"name": "get_weather"}}
    for forced in ("required", choice):
        completion = client.chat.completions.create(**plain, tool_choice=forced)
        equal("finish_reason", completion.choices[0].finish_reason, "tool_calls")
    forbidden = client.chat.completions.create(**ASK_WEATHER, tool_choice="none")
    equal("finish_reason", forbidden.choices[0].finish_reason, "stop")


@case
def structured_output_is_parsed():
    completion = client.chat.completions.parse(**ASK, response_format=City)
    equal("parsed", completion.choices[0].message.parsed, City(**CITY_ARGUMENTS))


@case
def structured_output_is_parsed_from_a_stream():
    with client.chat.completions.stream(**ASK, response_format=City) as stream:
        final = stream.get_final_completion()
    equal("parsed", final.choices[0].message.parsed, City(**CITY_ARGUMENTS))


@case
def any_json_object_can_be_asked_for():
    completion = client.chat.completions.create(**ASK, response_format={"type": "json_object"})
    contains("answer", json.loads(text_of(completion))["answer"], QUESTION)


@case
def an_image_reaches_the_provider_unchanged():
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, image]}]
    mark, headers = marked()
    completion = client.chat.completions.create(model=SMALL, messages=messages, extra_headers=headers)
    contains("text", text_of(completion), QUESTION)
    equal("messages", received_body(mark)["messages"], messages)


@case
def every_role_and_setting_is_taken():
    completion = client.chat.completions.create(
        model=LARGE,
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "system", "content": [{"type": "text", "text": "Be kind."}]},
            {"role": "user", "name": "ann", "content": "Hello"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": QUESTION},
        ],
        temperature=0.5,
        top_p=0.9,
        frequency_penalty=-1,
        presence_penalty=1,
        logit_bias={"50256": -100},
        logprobs=False,
        seed=7,
        stop=["END"],
        metadata={"team": "water"},
        parallel_tool_calls=True,
        reasoning_effort="low",
        verbosity="low",
        service_tier="auto",
        store=False,
        safety_identifier="user-1",
        prompt_cache_key="key",
    )
    contains("text", text_of(completion), QUESTION)
