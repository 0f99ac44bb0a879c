"""Tests of SDKs whose model is behind Gemini's API or Bedrock's Converse, at the simulated provider, which refuses what these vendors refuse."""

import json
import os
import time

import anthropic
import openai
import pydantic

from runner import cases, contains, equal, holds, raised, until_broken
from samples import KEY

URL = os.environ["CLIENTS_TRANSLATION_URL"]
OPENAI = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
ANTHROPIC = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
MODELS = ("of-gemini", "of-converse")
QUESTION = "Is the gate open?"
TOOLS = "Call look and smell."
# The simulated model counts what came back to it.
ANSWER = "results=2 thoughts=1"
PARAMETERS = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"], "additionalProperties": False}
NAMES = ("look", "smell")
SEALED = "reasoning.encrypted_content"


class City(pydantic.BaseModel):
    city: str


CITY = City(city="sample city")


def simulate(directives):
    return {"x-simulate": directives}


def chat(model, text=QUESTION, **options):
    messages = [{"role": "user", "content": text}]
    return OPENAI.chat.completions.create(model=model, messages=messages, **options)


def respond(model, text=QUESTION, **options):
    return OPENAI.responses.create(model=model, input=text, store=False, **options)


def send(model, text=QUESTION, **options):
    messages = [{"role": "user", "content": text}]
    return ANTHROPIC.messages.create(**{"model": model, "max_tokens": 4000, "messages": messages, **options})


def text_of(answer):
    """The text of a whole answer of each SDK."""
    if hasattr(answer, "choices"):
        return answer.choices[0].message.content
    return answer.output_text if hasattr(answer, "output_text") else "".join(block.text for block in answer.content if block.type == "text")


def end_of(answer):
    if hasattr(answer, "choices"):
        return answer.choices[0].finish_reason
    return answer.status if hasattr(answer, "output_text") else answer.stop_reason


def counts_of(answer):
    usage = answer.usage
    return (usage.prompt_tokens, usage.completion_tokens) if hasattr(usage, "prompt_tokens") else (usage.input_tokens, usage.output_tokens)


def streamed_chat(model, text=QUESTION, **options):
    messages = [{"role": "user", "content": text}]
    asked = {"model": model, "messages": messages, "stream_options": {"include_usage": True}, **options}
    with OPENAI.chat.completions.stream(**asked) as stream:
        return stream.get_final_completion()


def streamed_respond(model, text=QUESTION, **options):
    with OPENAI.responses.stream(**{"model": model, "input": text, "store": False, **options}) as stream:
        return stream.get_final_response()


def streamed_send(model, text=QUESTION, **options):
    messages = [{"role": "user", "content": text}]
    with ANTHROPIC.messages.stream(**{"model": model, "max_tokens": 4000, "messages": messages, **options}) as stream:
        return stream.get_final_message()


CLIENTS = {
    "chat": (chat, streamed_chat, "stop"),
    "responses": (respond, streamed_respond, "completed"),
    "messages": (send, streamed_send, "end_turn"),
}
ROWS = {f"{name}_{model}": (model, *calls) for name, calls in CLIENTS.items() for model in MODELS}


@cases(**ROWS)
def an_answer_and_its_stream_are_the_same(model, whole, streamed, end):
    answer = whole(model)
    contains("text", text_of(answer), QUESTION)
    equal("end", end_of(answer), end)
    holds("tokens are counted", all(count > 0 for count in counts_of(answer)), counts_of(answer))
    equal("model", answer.model, model)
    stream = streamed(model)
    equal("streamed text", text_of(stream), text_of(answer))
    equal("streamed end", end_of(stream), end)
    equal("streamed counts", counts_of(stream), counts_of(answer))


def chat_tools(model, form):
    tools = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in NAMES]
    messages = [{"role": "user", "content": TOOLS}]
    asked = {"model": model, "tools": tools, "reasoning_effort": "medium"}
    if form == "streamed":
        with OPENAI.chat.completions.stream(messages=messages, **asked) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = OPENAI.chat.completions.create(messages=messages, **asked).choices[0].message
    calls = [call.model_dump(include={"id", "type", "function"}) for call in message.tool_calls]
    bare = {"role": "assistant", "content": message.content, "tool_calls": calls}
    messages.append(bare if form == "bare" else message)
    for made in calls:
        place = json.loads(made["function"]["arguments"])["place"]
        messages.append({"role": "tool", "tool_call_id": made["id"], "content": f"{place}: water"})
    names = [made["function"]["name"] for made in calls]
    response = OPENAI.chat.completions.with_raw_response.create(messages=messages, **asked)
    return names, response.parse().choices[0].message.content, response.headers


def respond_tools(model, form):
    tools = [{"type": "function", "name": name, "parameters": PARAMETERS, "strict": True} for name in NAMES]
    items = [{"role": "user", "content": TOOLS}]
    asked = {"model": model, "tools": tools, "store": False, "include": [SEALED], "reasoning": {"effort": "medium", "summary": "auto"}}
    if form == "streamed":
        with OPENAI.responses.stream(input=items, **asked) as stream:
            first = stream.get_final_response()
    else:
        first = OPENAI.responses.create(input=items, **asked)
    calls = [item for item in first.output if item.type == "function_call"]
    items += first.output
    for made in calls:
        place = json.loads(made.arguments)["place"]
        items.append({"type": "function_call_output", "call_id": made.call_id, "output": f"{place}: water"})
    response = OPENAI.responses.with_raw_response.create(input=items, **asked)
    return [made.name for made in calls], response.parse().output_text, response.headers


def send_tools(model, form):
    tools = [{"name": name, "input_schema": PARAMETERS} for name in NAMES]
    messages = [{"role": "user", "content": TOOLS}]
    asked = {"model": model, "max_tokens": 4000, "tools": tools, "thinking": {"type": "enabled", "budget_tokens": 2000}}
    if form == "streamed":
        with ANTHROPIC.messages.stream(messages=messages, **asked) as stream:
            first = stream.get_final_message()
    else:
        first = ANTHROPIC.messages.create(messages=messages, **asked)
    holds("thoughts are shown", any(block.type == "thinking" and block.thinking for block in first.content), first.content)
    calls = [block for block in first.content if block.type == "tool_use"]
    messages.append({"role": "assistant", "content": first.content})
    results = [{"type": "tool_result", "tool_use_id": made.id, "content": f"{made.input['place']}: water"} for made in calls]
    messages.append({"role": "user", "content": results})
    response = ANTHROPIC.messages.with_raw_response.create(messages=messages, **asked)
    return [made.name for made in calls], text_of(response.parse()), response.headers


@cases(
    **{
        f"{name}_{model}_{form}": (run, model, form)
        for name, run, forms in (
            ("chat", chat_tools, ("whole", "streamed", "bare")),
            ("responses", respond_tools, ("whole", "streamed")),
            ("messages", send_tools, ("whole", "streamed")),
        )
        for model in MODELS
        for form in forms
    }
)
def parallel_calls_get_their_results_and_thoughts_come_back(run, model, form):
    names, answer, headers = run(model, form)
    equal("calls", names, list(NAMES))
    contains("answer", answer, ANSWER)
    translation = headers["x-headgate-translation"]
    lost = [place for place in ("messages[", "input[") if place in translation]
    holds("the conversation is whole", not lost, translation)


def parsed_chat(model):
    messages = [{"role": "user", "content": QUESTION}]
    return OPENAI.chat.completions.parse(model=model, messages=messages, response_format=City).choices[0].message.parsed


def parsed_respond(model):
    return OPENAI.responses.parse(model=model, input=QUESTION, store=False, text_format=City).output_parsed


def parsed_send(model):
    messages = [{"role": "user", "content": QUESTION}]
    return ANTHROPIC.messages.parse(model=model, max_tokens=4000, messages=messages, output_format=City).parsed_output


@cases(**{f"{call.__name__[7:]}_{model}": (call, model) for call in (parsed_chat, parsed_respond, parsed_send) for model in MODELS})
def an_answer_has_the_form_of_its_schema(call, model):
    equal("parsed", call(model), CITY)


KINDS = {
    400: (openai.BadRequestError, anthropic.BadRequestError),
    429: (openai.RateLimitError, anthropic.RateLimitError),
    503: (openai.InternalServerError, anthropic.OverloadedError),
}


@cases(**{f"{name}_{status}": (*ROWS[name][:2], status) for name in ROWS for status in KINDS})
def an_error_of_the_provider_is_raised_with_its_words(model, whole, status):
    wait = "retry_after=1; " if status == 429 else ""
    headers = simulate(f"status={status}; {wait}message=Out of water")
    kind = KINDS[status][whole is send]
    error = raised(kind, lambda: whole(model, extra_headers=headers))
    contains("message", str(error.body), "Out of water")
    if status == 429:
        equal("retry-after", error.response.headers.get("retry-after"), "1")
        time.sleep(1.1)  # The channel is in cool-down for its Retry-After.


@cases(
    **{
        f"{name}_{fault}": (*ROWS[name][:2], directives)
        for name in ROWS
        for fault, directives in {"error": "error_event_after=3; message=Out of water", "cut": "cut_after=3", "end": "end_after_events=4"}.items()
    }
)
def a_stream_that_breaks_raises_and_has_no_end(model, whole, directives):
    events, error = until_broken(whole(model, stream=True, extra_headers=simulate(directives)))
    # The responses client returns the last event, and raises only for what follows it.
    is_last = getattr(events[-1], "type", "") in ("error", "response.failed")
    holds("the error is seen", is_last or isinstance(error, (openai.APIError, anthropic.APIError)), error)
    holds("content came before", len(events) >= 3, len(events))
    ends = [event for event in events if getattr(event, "type", "") in ("message_stop", "response.completed")]
    reasons = [choice.finish_reason for event in events for choice in getattr(event, "choices", [])]
    holds("no end was invented", not ends and not any(reasons), (ends, reasons))
