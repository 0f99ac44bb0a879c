"""A caller of the gateway: sends requests, and enters the outcome of each into the ledger."""

import json
import random
import time
from dataclasses import dataclass, field

from configuration import ADMIN_KEY, APP
from http_client import ConnectionEnd, HttpClient
from ledger import Abandon, Ledger, RequestError

# What the last event of a stream has, by protocol.
LAST_EVENTS = {
    "chat": b"data: [DONE]",
    "messages": b"message_stop",
    "responses": b"response.completed",
    "image_edit": b"image_edit.completed",
    "image_generation": b"image_generation.completed",
    "transcription": b"transcript.text.done",
    "gemini": b'"finishReason"',
    "converse": b"messageStop",
}


@dataclass
class Caller:
    """`gateway` and `admin` are clients of its addresses; `receiver` gets callbacks about `created_tasks`."""

    gateway: HttpClient
    admin: HttpClient
    ledger: Ledger
    receiver: object
    random: random.Random
    created_tasks: set = field(default_factory=set)
    problems: list = field(default_factory=list)

    async def call(
        self, kind, method, path, body=None, *, key=APP, expect=(200,), planted=None, stream=None, headers=(), on_piece=None
    ):
        """Sends a request. `planted` is a cause with the codes that it explains; a request that fails raises `Abandon`."""
        begun = time.monotonic()
        try:
            response = await self._send(method, path, body, key, dict(headers), stream, on_piece)
            if response.status not in expect:
                raise RequestError(response.status, error_code(response.body), response.request_id, text_of(response.body))
            if stream and not response.left:
                _check_end(response, stream)
        except RequestError as error:
            self.enter(kind, error, begun, planted)
            raise Abandon from error
        self.ledger.succeed(kind, begun, time.monotonic() - begun if not stream and on_piece is None else None)
        return response

    def enter(self, kind, error, begun, planted=None):
        """Enters an error: planted by the scenario, or what the ledger knows about it."""
        if planted and (error.code in planted[1] or str(error.status) in planted[1]):
            self.ledger.plant(kind, planted[0], error)
        else:
            self.ledger.fail(kind, error, begun)

    async def _send(self, method, path, body, key, headers, stream, on_piece):
        headers = {"authorization": f"Bearer {key}", **headers}
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("content-type", "application/json")
        if path.startswith("/v1/messages"):
            headers.setdefault("anthropic-version", "2023-06-01")
        try:
            return await self.gateway.request(method, path, headers, body or b"", on_piece or (_ignore if stream else None))
        except TimeoutError as error:
            raise RequestError(0, "client_timeout", "-", f"{method} {path}") from error
        except ConnectionEnd as end:
            code = "connection_closed" if end.received is None else "response_cut"
            if stream and (event_code := stream_error_code(end.body[-2000:])):
                # An error event, and no clean end after it.
                code = event_code
            raise RequestError(0, code, end.request_id, f"{method} {path}: {end}") from end
        except OSError as error:
            raise RequestError(0, "connect_error", "-", f"{method} {path}: {error}") from error

    async def admin_page(self, method, path):
        """The response of an admin page, whatever its status."""
        return await self.admin.request(method, path, {"authorization": f"Bearer {ADMIN_KEY}"}, timeout=20)


async def _ignore(_piece):
    pass


def _check_end(response, protocol):
    if LAST_EVENTS[protocol] in response.body:
        return
    tail = response.body[-2000:]
    raise RequestError(response.status, stream_error_code(tail) or "stream_without_end", response.request_id, text_of(tail))


def stream_error_code(tail):
    """`stream_error` with the code of the last event, if that is an error."""
    if b"xception" in tail and b":message-type" in tail:
        return "stream_error exception"
    events = [line[6:] for line in tail.splitlines() if line.startswith(b"data: {")]
    if events and b'"error"' in events[-1]:
        return f"stream_error {error_code(events[-1])}"
    return None


def error_code(body):
    """The code of an error body of any protocol, or else its type."""
    try:
        value = json.loads(body)
    except ValueError:
        return "no JSON"
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return "no object"
    response = value.get("response")
    for inner in (value.get("error"), response.get("error") if isinstance(response, dict) else None, value):
        if isinstance(inner, dict):
            for name in ("code", "type", "__type", "status"):
                if isinstance(inner.get(name), (str, int)) and inner.get(name) != "error":
                    return str(inner[name])
    return "no code"


def text_of(body):
    return body[-700:].decode(errors="replace")
