"""Tests that thoughts survive agents: what only the thoughts of two turns have is repeated in the last one.

Each client talks to providers of other protocols, through a gateway of its own; they refuse what real ones refuse.
"""

import asyncio
import json
import os
import uuid

import anthropic
import openai
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIProvider,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from openai.types.shared import Reasoning

from runner import cases, equal, holds
from samples import KEY, PDF, PNG
from strict_checks import word_for

URL = os.environ["CLIENTS_TRANSLATION_URL"]
VENDORS = ("gemini", "converse")
SEALED = "reasoning.encrypted_content"
PARAMETERS = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"], "additionalProperties": False}
IMAGE_URI, PDF_URI = f"data:image/png;base64,{PNG}", f"data:application/pdf;base64,{PDF}"
CHAT_CONTENT = [
    {"type": "image_url", "image_url": {"url": IMAGE_URI}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF_URI}},
]
RESPONSES_CONTENT = [
    {"type": "input_image", "image_url": IMAGE_URI, "detail": "auto"},
    {"type": "input_file", "filename": "a.pdf", "file_data": PDF_URI},
]
MESSAGES_CONTENT = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}},
]


def look(place: str) -> str:
    """Looks at a place."""
    return f"{place}: water"


def probe():
    """The text of a user, and the answer of a model that has its thoughts."""
    nonce = uuid.uuid4().hex
    words = " ".join(word_for(nonce, step) for step in range(2))
    return f"Look around. probe-{nonce}", f"RECALL {words} results=3 images=1 documents=1"


def chat_tool():
    return {"type": "function", "function": {"name": "look", "parameters": PARAMETERS}}


def openai_chat(model, form):
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    text, wanted = probe()
    messages = [{"role": "user", "content": [{"type": "text", "text": text}, *CHAT_CONTENT]}]
    while True:
        asked = {"model": model, "messages": messages, "tools": [chat_tool()], "reasoning_effort": "medium"}
        if form == "streamed":
            with client.chat.completions.stream(**asked) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        if not message.tool_calls:
            return equal("answer", message.content, wanted)
        calls = [call.model_dump(include={"id", "type", "function"}) for call in message.tool_calls]
        bare = {"role": "assistant", "content": message.content, "tool_calls": calls}
        messages.append(message if form == "whole" else bare)
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": look(**json.loads(call["function"]["arguments"]))})


@cases(
    messages_whole=("of-messages", "whole"),
    messages_only_calls_come_back=("of-messages", "bare"),
    messages_streamed=("of-messages", "streamed"),
    responses_whole=("of-responses", "whole"),
    responses_only_calls_come_back=("of-responses", "bare"),
    responses_streamed=("of-responses", "streamed"),
    **{f"{vendor}_{form}": (f"of-strict-{vendor}", form) for vendor in VENDORS for form in ("whole", "bare", "streamed")},
)
def the_chat_client_of_openai_recalls(model, form):
    openai_chat(model, form)


@cases(
    chat_whole=("of-chat", False),
    chat_streamed=("of-chat", True),
    messages_whole=("of-messages", False),
    messages_streamed=("of-messages", True),
    **{f"{vendor}{'_streamed' * is_streamed}": (f"of-strict-{vendor}", is_streamed) for vendor in VENDORS for is_streamed in (False, True)},
)
def the_responses_client_of_openai_recalls(model, is_streamed):
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    text, wanted = probe()
    tool = {"type": "function", "name": "look", "parameters": PARAMETERS, "strict": True}
    items = [{"role": "user", "content": [{"type": "input_text", "text": text}, *RESPONSES_CONTENT]}]
    while True:
        asked = {"model": model, "input": items, "tools": [tool], "store": False, "include": [SEALED], "reasoning": {"effort": "medium"}}
        if is_streamed:
            with client.responses.stream(**asked) as stream:
                response = stream.get_final_response()
        else:
            response = client.responses.create(**asked)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return equal("answer", response.output_text, wanted)
        items += response.output
        for call in calls:
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": look(**json.loads(call.arguments))})


@cases(
    chat_whole=("of-chat", False),
    chat_streamed=("of-chat", True),
    responses_whole=("of-responses", False),
    responses_streamed=("of-responses", True),
    **{f"{vendor}{'_streamed' * is_streamed}": (f"of-strict-{vendor}", is_streamed) for vendor in VENDORS for is_streamed in (False, True)},
)
def the_client_of_anthropic_recalls(model, is_streamed):
    client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
    text, wanted = probe()
    tool = {"name": "look", "input_schema": PARAMETERS}
    messages = [{"role": "user", "content": [{"type": "text", "text": text}, *MESSAGES_CONTENT]}]
    thinking = {"type": "enabled", "budget_tokens": 2000}
    while True:
        asked = {"model": model, "max_tokens": 4000, "messages": messages, "tools": [tool], "thinking": thinking}
        if is_streamed:
            with client.messages.stream(**asked) as stream:
                message = stream.get_final_message()
        else:
            message = client.messages.create(**asked)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return equal("answer", message.content[-1].text, wanted)
        messages.append({"role": "assistant", "content": message.content})
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": look(**call.input)} for call in calls]
        messages.append({"role": "user", "content": results})


@cases(
    chat_model_on_messages=(OpenAIChatCompletionsModel, "of-messages", False),
    chat_model_on_responses=(OpenAIChatCompletionsModel, "of-responses", False),
    chat_model_on_messages_streamed=(OpenAIChatCompletionsModel, "of-messages", True),
    chat_model_on_responses_streamed=(OpenAIChatCompletionsModel, "of-responses", True),
    responses_model_on_chat=(OpenAIResponsesModel, "of-chat", False),
    responses_model_on_messages=(OpenAIResponsesModel, "of-messages", False),
    responses_model_on_chat_streamed=(OpenAIResponsesModel, "of-chat", True),
    responses_model_on_messages_streamed=(OpenAIResponsesModel, "of-messages", True),
    **{
        f"{name}_on_{vendor}{'_streamed' * is_streamed}": (kind, f"of-strict-{vendor}", is_streamed)
        for name, kind in (("chat_model", OpenAIChatCompletionsModel), ("responses_model", OpenAIResponsesModel))
        for vendor in VENDORS
        for is_streamed in (False, True)
    },
)
def an_agent_of_openai_agents_recalls(kind, model, is_streamed):
    set_tracing_disabled(True)
    text, wanted = probe()

    async def run():
        async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0) as client:
            return await answer(client)

    async def answer(client):
        settings = ModelSettings(reasoning=Reasoning(effort="medium"), store=False, parallel_tool_calls=True)
        if kind is OpenAIResponsesModel:
            settings.response_include = [SEALED]
        else:
            settings.store = None
        agent = Agent(name="a", tools=[function_tool(look)], model=kind(model, client), model_settings=settings)
        content = [{"type": "input_text", "text": text}, *RESPONSES_CONTENT]
        asked = [{"role": "user", "content": content}]
        if not is_streamed:
            return (await Runner.run(agent, asked)).final_output
        running = Runner.run_streamed(agent, asked)
        async for _ in running.stream_events():
            pass
        return running.final_output

    equal("answer", asyncio.run(run()), wanted)


@cases(
    **{
        f"{channel}_{form}": (f"of-{channel}", form == "continued")
        for channel in ("chat", "messages", "responses", *(f"strict-{vendor}" for vendor in VENDORS))
        for form in ("whole", "continued")
    }
)
def an_agent_of_openai_agents_recalls_over_a_websocket(model, is_continued):
    set_tracing_disabled(True)
    text, wanted = probe()
    settings = ModelSettings(reasoning=Reasoning(effort="medium"), store=False, parallel_tool_calls=True, response_include=[SEALED])
    agent = Agent(name="a", tools=[function_tool(look)], model=model, model_settings=settings)
    asked = [{"role": "user", "content": [{"type": "input_text", "text": text}, *RESPONSES_CONTENT]}]
    # Only the first question has the probe.
    again = [{"role": "user", "content": "Look again."}]

    async def run():
        provider = OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY, use_responses_websocket=True)
        config = RunConfig(model_provider=provider)
        try:
            first = await Runner.run(agent, asked, run_config=config, auto_previous_response_id=is_continued)
            if is_continued:
                # Of the conversation, only the gateway has what came before.
                continued = {"previous_response_id": first.last_response_id, "auto_previous_response_id": True}
                second = await Runner.run(agent, again, run_config=config, **continued)
            else:
                second = await Runner.run(agent, [*first.to_input_list(), *again], run_config=config)
            return first.final_output, second.final_output
        finally:
            await provider.aclose()

    equal("answers", asyncio.run(run()), (wanted, wanted))


def langchain_model(kind, model):
    if kind == "messages":
        thinking = {"type": "enabled", "budget_tokens": 2000}
        return ChatAnthropic(model=model, base_url=URL, api_key=KEY, max_tokens=4000, thinking=thinking, max_retries=0)
    options = {"use_responses_api": True, "store": False, "include": [SEALED], "reasoning": {"effort": "medium"}}
    options = options if kind == "responses" else {"reasoning_effort": "medium", "use_responses_api": False}
    return ChatOpenAI(model=model, base_url=f"{URL}/v1", api_key=KEY, max_retries=0, **options)


@cases(
    **{
        f"{kind}_on_{channel}{'_streamed' * is_streamed}": (kind, f"of-{channel}", is_streamed)
        for kind in ("chat", "messages", "responses")
        for channel in ("chat", "messages", "responses", *(f"strict-{vendor}" for vendor in VENDORS))
        for is_streamed in (False, True)
        if kind != channel
    }
)
def an_agent_of_langchain_recalls(kind, model, is_streamed):
    text, wanted = probe()
    agent = create_agent(langchain_model(kind, model), [look])
    content = {
        "chat": [{"type": "text", "text": text}, *CHAT_CONTENT],
        "messages": [{"type": "text", "text": text}, *MESSAGES_CONTENT],
        "responses": [{"type": "input_text", "text": text}, *RESPONSES_CONTENT],
    }[kind]
    asked = {"messages": [{"role": "user", "content": content}]}
    if is_streamed:
        # Streams the answers of the model, token by token.
        for mode, value in agent.stream(asked, stream_mode=["messages", "values"]):
            if mode == "values":
                state = value
    else:
        state = agent.invoke(asked)
    equal("answer", state["messages"][-1].text, wanted)


@cases(messages=("of-messages",), responses=("of-responses",))
def thoughts_that_are_not_kept_are_named(model):
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0)
    text, _ = probe()
    question = {"role": "user", "content": text}
    asked = {"model": model, "tools": [chat_tool()], "reasoning_effort": "medium", "parallel_tool_calls": False}
    message = client.chat.completions.create(messages=[question], **asked).choices[0].message
    (call,) = (call.model_dump(include={"id", "type", "function"}) for call in message.tool_calls)
    # A handle of nothing has as many letters.
    call["id"] = call["id"][:-16] + "0" * 16
    turn = {"role": "assistant", "content": message.content, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "water"}
    response = client.chat.completions.with_raw_response.create(messages=[question, turn, result], **asked)
    lost = response.headers["x-headgate-translation"]
    holds("the header names the loss", "dropped=messages[].tool_calls[].id" in lost, lost)
