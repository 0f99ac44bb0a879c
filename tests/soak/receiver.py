"""A receiver of callbacks, which verifies the signatures of Standard Webhooks and fails on some first deliveries."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections import Counter

# One of so many first deliveries of an event gets 500.
FAILURES_EVERY = 20


class Receiver:
    def __init__(self, secret):
        self.key = base64.b64decode(secret.removeprefix("whsec_"))
        self.counts = Counter()
        self.ended_tasks = set()
        self.seen_events = set()
        self.problems = []

    async def start(self, port):
        self.port = port
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    def url(self):
        return f"http://127.0.0.1:{self.port}/done"

    async def _serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                headers = {name.lower(): value for name, value in headers.items()}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                status = self._take(headers, body)
                writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    def _take(self, headers, body):
        self.counts["deliveries"] += 1
        event = headers.get("webhook-id", "")
        if not self._is_signed(headers, body):
            self.problems.append(f"a delivery without a valid signature: {event}")
            return 401
        if event in self.seen_events:
            self.counts["repeated deliveries"] += 1
        elif len(self.seen_events) % FAILURES_EVERY == 0:
            self.seen_events.add(event)
            self.counts["deliveries refused on purpose"] += 1
            return 500
        self.seen_events.add(event)
        self._note(json.loads(body))
        return 200

    def _note(self, content):
        if content.get("type", "").startswith("video."):
            self.ended_tasks.add(content["data"]["id"])
        elif content.get("status") in ("succeeded", "failed", "expired", "cancelled"):
            self.ended_tasks.add(content["task_id"])

    def _is_signed(self, headers, body):
        at = headers.get("webhook-timestamp", "0")
        if abs(time.time() - int(at)) > 300:
            return False
        text = f"{headers.get('webhook-id', '')}.{at}.".encode() + body
        expected = "v1," + base64.b64encode(hmac.new(self.key, text, hashlib.sha256).digest()).decode()
        return expected in headers.get("webhook-signature", "").split()
