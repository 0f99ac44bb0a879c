"""Tests of streams whose connection ends cleanly before the last event: the SDKs must raise, wherever the end is."""

from demo import QUESTION, SMALL, anthropic_client, openai_client, simulate
from runner import cases, holds, until_broken

MESSAGES = [{"role": "user", "content": QUESTION}]
SHORT = "events=3; event_bytes=8"
# More than the short stream has of either.
EVENTS, BYTES = 40, range(1, 20_000, 97)


def chat(headers):
    stream = openai_client().chat.completions.create(
        model=SMALL, messages=MESSAGES, stream=True, extra_headers=headers
    )
    chunks, error = until_broken(stream)
    return error, any(choice.finish_reason for chunk in chunks for choice in chunk.choices)


def respond(headers):
    stream = openai_client().responses.create(model=SMALL, input=QUESTION, stream=True, extra_headers=headers)
    events, error = until_broken(stream)
    return error, any(event.type == "response.completed" for event in events)


def send(headers):
    stream = anthropic_client().messages.create(
        model=SMALL, max_tokens=200, messages=MESSAGES, stream=True, extra_headers=headers
    )
    events, error = until_broken(stream)
    return error, any(event.type == "message_stop" for event in events)


@cases(
    **{
        f"{name}_{unit}": (call, unit, ends)
        for name, call in {"chat": chat, "responses": respond, "messages": send}.items()
        for unit, ends in {"events": range(EVENTS), "bytes": BYTES}.items()
    }
)
def a_stream_that_ends_early_raises_wherever_it_ends(call, unit, ends):
    for end in ends:
        error, whole = call(simulate(f"{SHORT}; end_after_{unit}={end}"))
        if whole:
            holds("some were cut", end > 1, end)
            if error is None:
                return
        holds(f"it raises after {end} {unit}", error is not None)
    holds("the whole stream is reached", False)
