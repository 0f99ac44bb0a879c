"""A provider that answers with faults, one after the other, and remembers which request got which."""

import asyncio
import itertools
import json
import socket
import struct

HEAD = "HTTP/1.1 {} X\r\ncontent-type: {}\r\n"
CHUNK = {"id": "chatcmpl-h", "object": "chat.completion.chunk", "created": 1, "model": "m"}
WHOLE = {
    "id": "chatcmpl-h",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "from the hostile provider"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
}


def _error(code, message):
    return json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()


def _body(status, body, content_type="application/json", extra=""):
    return (HEAD.format(status, content_type) + f"content-length: {len(body)}\r\n{extra}\r\n").encode() + body


def _events(count):
    piece = {**CHUNK, "choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}]}
    return _chunk(json.dumps(piece).encode()) * count


def _chunk(data):
    """A chunk with one event."""
    event = b"data: " + data + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(event), event)


STREAM_HEAD = (HEAD.format(200, "text/event-stream") + "transfer-encoding: chunked\r\n\r\n").encode()
WHOLE_BODY = json.dumps(WHOLE).encode()
# Name, bytes, what follows: `close`, `reset`, `stall` or `reuse`.
FAULTS = [
    ("close before the head", b"", "close"),
    ("reset before the head", b"", "reset"),
    ("no response", b"", "stall"),
    ("status 500", _body(500, _error("server_error", "out of order")), "reuse"),
    ("status 503", _body(503, _error("overloaded", "busy")), "reuse"),
    ("status 429", _body(429, _error("rate_limit_exceeded", "slow down")), "reuse"),
    ("status 401", _body(401, _error("invalid_api_key", "no such key")), "reuse"),
    ("error under status 200", _body(200, _error("server_error", "inside a success")), "reuse"),
    ("page under status 200", _body(200, b"<html><body>maintenance</body></html>", "text/html"), "reuse"),
    ("truncated JSON", _body(200, WHOLE_BODY[: len(WHOLE_BODY) // 2]), "reuse"),
    ("body cut in half", _body(200, WHOLE_BODY)[: -len(WHOLE_BODY) // 2], "close"),
    ("body without an end", _body(200, WHOLE_BODY)[: -len(WHOLE_BODY) // 2], "stall"),
    ("garbage instead of HTTP", b"\x00\x01\x02 not HTTP at all\r\n\r\n", "close"),
    ("two lengths", b"HTTP/1.1 200 X\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}", "close"),
    ("endless head", b"HTTP/1.1 200 X\r\n" + b"x-filler: " + b"a" * 400_000, "close"),
    ("redirect", _body(302, b"", extra="location: http://127.0.0.1:1/\r\n"), "reuse"),
    ("stream cut after 3 events", STREAM_HEAD + _events(3), "close"),
    ("stream reset after 3 events", STREAM_HEAD + _events(3), "reset"),
    ("stream that stalls after 3 events", STREAM_HEAD + _events(3), "stall"),
    ("stream that ends without its last event", STREAM_HEAD + _events(3) + b"0\r\n\r\n", "reuse"),
    ("stream that begins with an error", STREAM_HEAD + _chunk(_error("server_error", "at once")) + b"0\r\n\r\n", "reuse"),
    ("whole response", _body(200, WHOLE_BODY), "reuse"),
]


class HostileProvider:
    def __init__(self, faults_by_request):
        self.faults_by_request = faults_by_request
        self.next_fault = itertools.cycle(FAULTS)
        self.requests = 0

    async def start(self, port):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    async def _serve(self, reader, writer):
        try:
            while await self._respond(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.transport.abort()

    async def _respond(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        await reader.readexactly(int(headers.get("content-length", 0)))
        self.requests += 1
        name, response, then = next(self.next_fault)
        if request_id := headers.get("x-request-id"):
            self.faults_by_request[request_id] = name
        writer.write(response)
        await writer.drain()
        if then == "reset":
            # Unread data and a lingering time of 0 make the kernel send RST.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if then == "stall":
            await reader.read(1)
            return False
        return then == "reuse"
