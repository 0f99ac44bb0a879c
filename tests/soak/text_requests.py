"""Requests for text: every conversation protocol, whole and streamed, translated, stored, and endpoints of single texts."""

import asyncio

from configuration import APP, LIMITED, OTHER, POOR

QUESTION = "What does a gate do at the head of a mill race?"
CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
ANY_CHAT = ("demo-chat", "demo-small", "demo-of-chat", "demo-of-messages", "demo-gemini", "demo-converse")


def question(caller):
    """A question; one in eight is long."""
    return QUESTION * 600 if caller.random.random() < 0.125 else QUESTION


def simulate(directives):
    return {"x-simulate": directives}


def chat_body(caller, model, **more):
    return {"model": model, "messages": [{"role": "user", "content": question(caller)}], **more}


def messages_body(caller, model, **more):
    return {**chat_body(caller, model), "max_tokens": 256, **more}


def responses_body(caller, model, **more):
    return {"model": model, "input": question(caller), **more}


async def chat(caller):
    model = caller.random.choice(ANY_CHAT)
    key = caller.random.choice((APP, OTHER))
    await caller.call(f"chat {model}", "POST", CHAT, chat_body(caller, model), key=key)


async def small_chat(caller):
    body = {"model": "demo-small", "messages": [{"role": "user", "content": QUESTION}]}
    await caller.call("chat, in a lull", "POST", CHAT, body)


async def chat_stream(caller):
    model = caller.random.choice(ANY_CHAT)
    events = caller.random.choice(("events=20", "events=60; pace=20ms", "events=8; event_bytes=20000"))
    body = chat_body(caller, model, stream=True)
    await caller.call(f"chat stream {model}", "POST", CHAT, body, stream="chat", headers=simulate(events).items())


async def messages(caller):
    model = caller.random.choice(ANY_CHAT)
    await caller.call(f"messages {model}", "POST", MESSAGES, messages_body(caller, model))


async def messages_stream(caller):
    model = caller.random.choice(ANY_CHAT)
    body = messages_body(caller, model, stream=True)
    await caller.call(f"messages stream {model}", "POST", MESSAGES, body, stream="messages")


async def count_tokens(caller):
    await caller.call("count tokens", "POST", f"{MESSAGES}/count_tokens", chat_body(caller, "demo-chat"))


async def responses(caller):
    model = caller.random.choice(ANY_CHAT)
    await caller.call(f"responses {model}", "POST", RESPONSES, responses_body(caller, model, store=False))


async def responses_stream(caller):
    model = caller.random.choice(ANY_CHAT)
    body = responses_body(caller, model, store=False, stream=True)
    await caller.call(f"responses stream {model}", "POST", RESPONSES, body, stream="responses")


async def stored_response(caller):
    made = (await caller.call("response stored", "POST", RESPONSES, responses_body(caller, "demo-chat"))).json()
    follow = responses_body(caller, "demo-chat", previous_response_id=made["id"])
    await caller.call("response continued", "POST", RESPONSES, follow)
    await caller.call("response read", "GET", f"{RESPONSES}/{made['id']}")
    await caller.call("response deleted", "DELETE", f"{RESPONSES}/{made['id']}")


async def conversation(caller):
    made = (await caller.call("conversation created", "POST", "/v1/conversations", {"metadata": {"topic": "water"}})).json()
    body = responses_body(caller, "demo-chat", conversation=made["id"])
    await caller.call("conversation continued", "POST", RESPONSES, body)
    await caller.call("conversation deleted", "DELETE", f"/v1/conversations/{made['id']}")


async def stored_chat(caller):
    made = (await caller.call("chat stored", "POST", CHAT, chat_body(caller, "demo-small", store=True))).json()
    await caller.call("chat read", "GET", f"{CHAT}/{made['id']}")
    await caller.call("chat deleted", "DELETE", f"{CHAT}/{made['id']}")


async def gemini(caller):
    body = {"contents": [{"role": "user", "parts": [{"text": question(caller)}]}]}
    path = "/v1beta/models/demo-gemini"
    await caller.call("gemini", "POST", f"{path}:generateContent", body)
    await caller.call("gemini stream", "POST", f"{path}:streamGenerateContent?alt=sse", body, stream="gemini")


async def converse(caller):
    body = {"messages": [{"role": "user", "content": [{"text": question(caller)}]}]}
    await caller.call("converse", "POST", "/model/demo-converse/converse", body)
    await caller.call("converse stream", "POST", "/model/demo-converse/converse-stream", body, stream="converse")


async def single_texts(caller):
    model = "demo-endpoints"
    requests = {
        "embeddings": ("/v1/embeddings", {"model": model, "input": [QUESTION, "a hedge row"]}),
        "completions": ("/v1/completions", {"model": model, "prompt": QUESTION, "max_tokens": 40}),
        "moderations": ("/v1/moderations", {"model": model, "input": QUESTION}),
        "rerank": ("/v1/rerank", {"model": model, "query": "water", "documents": [QUESTION, "a hedge row"]}),
        "cohere rerank": ("/v2/rerank", {"model": "demo-ranks", "query": "water", "documents": [QUESTION, "a hedge row"]}),
        "speech": ("/v1/audio/speech", {"model": model, "voice": "alloy", "input": QUESTION}),
    }
    kind, (path, body) = caller.random.choice(list(requests.items()))
    await caller.call(kind, "POST", path, body)


async def completions_stream(caller):
    body = {"model": "demo-endpoints", "prompt": QUESTION, "max_tokens": 40, "stream": True}
    await caller.call("completions stream", "POST", "/v1/completions", body, stream="chat")


async def model_lists(caller):
    await caller.call("models", "GET", "/v1/models")


async def limited(caller):
    planted = ("limit of requests per minute", ("rate_limit_exceeded",))
    await caller.call("limited caller", "POST", CHAT, chat_body(caller, "demo-chat"), key=LIMITED, planted=planted)


async def poor(caller):
    planted = ("used-up budget", ("insufficient_quota",))
    await caller.call("caller without money", "POST", CHAT, chat_body(caller, "demo-chat"), key=POOR, planted=planted)


async def frail(caller):
    """A model whose first channel is hostile, with a reserve."""
    if caller.random.random() < 0.5:
        await caller.call("hostile first channel", "POST", CHAT, chat_body(caller, "demo-frail"))
    else:
        body = chat_body(caller, "demo-frail", stream=True)
        await caller.call("hostile first channel, stream", "POST", CHAT, body, stream="chat")


async def hostile(caller):
    """A model that only the hostile provider serves."""
    body = chat_body(caller, "demo-hostile", stream=caller.random.random() < 0.5)
    await caller.call("hostile channel", "POST", CHAT, body, stream="chat" if body["stream"] else None)


async def planted_faults(caller):
    """Faults that the request itself asks of the simulated provider."""
    whole = [
        ("status=500", ("500", "502")),
        ("status=429; retry_after=1", ("429", "503")),
        ("status=401", ("502",)),
        ("malformed", ("502",)),
        ("html", ("502",)),
        ("cut", ("502",)),
        ("error_body", ("400", "500", "502", "503", "429", "server_error", "invalid_request_error")),
        ("stall", ("504",)),
    ]
    broken = ("stream_error upstream_error", "stream_error api_error", "stream_error upstream_timeout", "stream_error timeout_error")
    reported = ("stream_error overloaded", "stream_error overloaded_error")
    streams = [
        ("cut_after=3", broken),
        ("error_event_after=3", reported),
        ("error_event_first", (*reported, "503", "529")),
        ("stall_after=3", (*broken, "504")),
        ("end_after_events=4", broken),
    ]
    is_stream = caller.random.random() < 0.5
    directive, codes = caller.random.choice(streams if is_stream else whole)
    protocol, path, body = caller.random.choice(
        (("chat", CHAT, chat_body), ("messages", MESSAGES, messages_body), ("responses", RESPONSES, responses_body))
    )
    planted = (f"simulated provider, {directive.split(';')[0]}", codes)
    more = {"store": False} if protocol == "responses" else {}
    body = body(caller, "demo-faulty", stream=is_stream, **more)
    kind = f"planted fault, {protocol}{' stream' if is_stream else ''}"
    headers = simulate(directive).items()
    await caller.call(kind, "POST", path, body, planted=planted, stream=protocol if is_stream else None, headers=headers)


async def many_at_once(caller):
    """Twenty requests of one caller at the same moment."""
    body = chat_body(caller, "demo-small")
    results = (caller.call("chat, 20 at once", "POST", CHAT, body) for _ in range(20))
    await asyncio.gather(*results, return_exceptions=True)


# Scenario and its weight.
SCENARIOS = [
    (chat, 12),
    (chat_stream, 8),
    (messages, 7),
    (messages_stream, 5),
    (count_tokens, 1),
    (responses, 6),
    (responses_stream, 5),
    (stored_response, 1),
    (conversation, 1),
    (stored_chat, 1),
    (gemini, 2),
    (converse, 2),
    (single_texts, 6),
    (completions_stream, 1),
    (model_lists, 1),
    (limited, 2),
    (poor, 1),
    (frail, 2),
    (hostile, 2),
    (planted_faults, 2),
    (many_at_once, 0.1),
]
