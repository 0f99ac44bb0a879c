"""Clients that misbehave: they leave, read slowly or not at all, send garbage, wrong keys and wrong bodies."""

import asyncio
import time

from configuration import APP
from http_client import Leave
from ledger import RequestError
from text_requests import CHAT, chat_body, messages_body, MESSAGES, simulate


async def leaves_during_stream(caller):
    pieces = 0

    async def leave(_piece):
        nonlocal pieces
        pieces += 1
        if pieces == 3:
            raise Leave

    body = chat_body(caller, caller.random.choice(("demo-chat", "demo-of-messages")), stream=True)
    headers = simulate("events=300; pace=10ms").items()
    await caller.call("client leaves during a stream", "POST", CHAT, body, stream="chat", headers=headers, on_piece=leave)


async def leaves_before_response(caller):
    body = messages_body(caller, "demo-chat")
    call = caller.call("client leaves before the response", "POST", MESSAGES, body, headers=simulate("delay=3s").items())
    try:
        async with asyncio.timeout(0.3):
            await call
    except TimeoutError:
        caller.ledger.succeed("client leaves before the response", time.monotonic())


async def reads_slowly(caller):
    async def wait(_piece):
        await asyncio.sleep(0.05)

    body = chat_body(caller, "demo-small")
    headers = simulate("body_bytes=3000000").items()
    await caller.call("client reads slowly", "POST", CHAT, body, headers=headers, on_piece=wait)


async def reads_nothing(caller):
    """The gateway ends a response that nobody reads after `write_timeout`."""
    async def stop_reading(_piece):
        if caller.random.random() < 0.01:
            await asyncio.sleep(9)

    body = chat_body(caller, "demo-small")
    planted = ("client that does not read", ("response_cut", "connection_closed", "client_timeout"))
    headers = simulate("body_bytes=12000000").items()
    await caller.call("client stops reading", "POST", CHAT, body, headers=headers, on_piece=stop_reading, planted=planted)


# The route's limit is 4 MiB.
TOO_LARGE = b'{"model": "demo-endpoints", "input": "' + b"a" * (5 << 20) + b'"}'


async def wrong_requests(caller):
    requests = [
        ("unknown model", "POST", CHAT, {"model": "no-such-model", "messages": []}, APP, ("404",)),
        ("unknown key", "POST", CHAT, chat_body(caller, "demo-chat"), "sk-nobody", ("401",)),
        ("body that is no JSON", "POST", CHAT, b'{"model": "demo-chat", ', APP, ("400",)),
        ("repeated member", "POST", CHAT, b'{"model": "demo-chat", "model": "demo-small", "messages": []}', APP, ("400",)),
        ("missing member", "POST", CHAT, {"model": "demo-chat"}, APP, ("400",)),
        ("unknown path", "GET", "/v1/no/such/path", None, APP, ("404",)),
        ("wrong method", "DELETE", CHAT, None, APP, ("405",)),
        ("unknown id", "GET", "/v1/responses/resp_never_made_here", None, APP, ("404",)),
        ("unknown task", "GET", "/v1/video/generations/task_never_made_here", None, APP, ("404",)),
        ("too large", "POST", "/v1/embeddings", TOO_LARGE, APP, ("413", "connection_closed")),
    ]
    cause, method, path, body, key, codes = caller.random.choice(requests)
    headers = {"content-type": "application/json"}.items() if body else ()
    planted = (f"wrong request, {cause}", codes)
    await caller.call("wrong request", method, path, body, key=key, planted=planted, expect=(), headers=headers)


POST_HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\n"
POST_KEY = b"authorization: Bearer " + APP.encode() + b"\r\ncontent-type: application/json\r\n"
RAW = [
    ("two hosts", b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"),
    ("length and chunks", POST_HEAD + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    ("not HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    ("head that never ends", b"GET / HTTP/1.1\r\nhost: a\r\nx-"),
    ("body that never comes", POST_HEAD + POST_KEY + b"content-length: 100\r\n\r\n{"),
    ("nothing", b""),
]


async def raw_connections(caller):
    """Connections that send no valid request, and go after a while if the gateway has not closed them."""
    cause, data = caller.random.choice(RAW)
    begun = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection(caller.gateway.host, caller.gateway.port)
        writer.write(data)
        try:
            async with asyncio.timeout(8):
                while await reader.read(65536):
                    pass
        except (TimeoutError, ConnectionError):
            pass
        writer.transport.abort()
        caller.ledger.succeed(f"raw connection, {cause}", begun)
    except OSError as error:
        caller.enter("raw connection", RequestError(0, "connect_error", "-", str(error)), begun)


# Scenario and its weight.
SCENARIOS = [
    (leaves_during_stream, 1),
    (leaves_before_response, 0.5),
    (reads_slowly, 0.2),
    (reads_nothing, 0.05),
    (wrong_requests, 2),
    (raw_connections, 0.5),
]
