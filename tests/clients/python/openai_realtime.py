"""Tests of sessions of the realtime API with the OpenAI SDK."""

import base64
import os

import openai
from websockets.exceptions import InvalidStatus

from demo import QUESTION
from runner import case, cases, equal, holds, raised
from samples import KEY

URL = os.environ.get("CLIENTS_TRANSLATION_URL")
VOICE = "voice"
TEXT = {"type": "realtime", "output_modalities": ["text"]}
# Half a second, after which the simulated provider takes a turn for ended.
SOUND = base64.b64encode(bytes(24_000)).decode()


def client(key=KEY, kind=openai.OpenAI):
    return kind(base_url=f"{URL}/v1", api_key=key, max_retries=0, timeout=20.0)


def until(connection, last):
    """The events up to one of this type."""
    events = []
    for event in connection:
        events.append(event)
        if event.type == last:
            return events
    raise AssertionError(f"the connection ended after {[event.type for event in events]}")


def ask(connection, text):
    content = [{"type": "input_text", "text": text}]
    connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
    connection.response.create()


def answer(events):
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


if URL:

    @case
    def a_session_answers_in_text_and_its_usage_arrives():
        with client().realtime.connect(model=VOICE) as connection:
            equal("first event", next(iter(connection)).type, "session.created")
            connection.session.update(session={**TEXT, "model": VOICE})
            equal("second event", next(iter(connection)).type, "session.updated")
            for _ in range(2):
                ask(connection, QUESTION)
                events = until(connection, "response.done")
                holds("the answer is about the question", "headgate" in answer(events), answer(events))
                usage = events[-1].response.usage
                equal("total", usage.total_tokens, usage.input_tokens + usage.output_tokens)

    @case
    def the_provider_answers_by_itself_after_speech():
        with client().realtime.connect(model=VOICE) as connection:
            connection.input_audio_buffer.append(audio=SOUND)
            events = until(connection, "response.done")
            kinds = {event.type for event in events}
            wanted = {"input_audio_buffer.speech_started", "input_audio_buffer.committed", "response.output_audio.delta"}
            holds("speech was noticed and answered by sound", wanted <= kinds, kinds)
            sound = [event.delta for event in events if event.type == "response.output_audio.delta"]
            holds("sound is base64", all(base64.b64decode(piece) for piece in sound))

    @case
    async def a_session_works_with_asyncio():
        async with client(kind=openai.AsyncOpenAI).realtime.connect(model=VOICE) as connection:
            await connection.session.update(session=TEXT)
            await connection.response.create()
            async for event in connection:
                if event.type == "response.done":
                    equal("status", event.response.status, "completed")
                    break

    @case
    def an_error_is_an_event_and_the_session_goes_on():
        with client().realtime.connect(model=VOICE) as connection:
            connection.session.update(session={"type": "realtime", "model": "other"}, event_id="mine")
            error = until(connection, "error")[-1].error
            equal("param", error.param, "session.model")
            equal("event", error.event_id, "mine")
            connection.response.create()
            until(connection, "response.done")

    @cases(
        unknown_model=(KEY, "no-such-model", 404),
        wrong_key=("sk-nobody", VOICE, 401),
        other_model=(KEY, "of-chat", 404),
    )
    def a_refused_handshake_is_an_error_of_http(key, model, status):
        def connect():
            connection = client(key).realtime.connect(model=model, max_retries=0).enter()
            connection.close()

        error = raised(InvalidStatus, connect)
        equal("status", error.response.status_code, status)
