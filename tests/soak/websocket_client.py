"""A WebSocket client (RFC 6455) for text messages."""

import asyncio
import base64
import json
import os
import struct

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Handshake(Exception):
    """The handshake got a response that is no WebSocket."""

    def __init__(self, status, body):
        super().__init__(f"status {status}")
        self.status, self.body = status, body


class Closure(Exception):
    """The server closed the WebSocket; the code is 1006 without a closing frame."""

    def __init__(self, code, reason=""):
        super().__init__(f"closed {code} {reason}")
        self.code, self.reason = code, reason


class WebSocket:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, host, port, path, headers):
        reader, writer = await asyncio.open_connection(host, port, limit=1 << 22)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"host: {host}:{port}", "connection: Upgrade", "upgrade: websocket"]
        lines += ["sec-websocket-version: 13", f"sec-websocket-key: {key}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise Closure(1006, "during the handshake") from error
        status = int(head.split()[1])
        if status != 101:
            body = await reader.read(65536)
            writer.transport.abort()
            raise Handshake(status, body)
        return cls(reader, writer)

    async def send(self, event):
        self._frame(TEXT, json.dumps(event).encode())
        await self.writer.drain()

    async def receive(self):
        """The next message as JSON."""
        parts = []
        while True:
            final, kind, payload = await self._read_frame()
            if kind == CLOSE:
                code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else 1005
                self.abort()
                raise Closure(code, payload[2:].decode(errors="replace"))
            if kind == PING:
                self._frame(PONG, payload)
            elif kind != PONG:
                parts.append(payload)
                if final:
                    return json.loads(b"".join(parts))

    async def _read_frame(self):
        try:
            first, second = await self.reader.readexactly(2)
            length = second & 127
            if length == 126:
                length = struct.unpack("!H", await self.reader.readexactly(2))[0]
            elif length == 127:
                length = struct.unpack("!Q", await self.reader.readexactly(8))[0]
            return bool(first & 128), first & 15, await self.reader.readexactly(length)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self.abort()
            raise Closure(1006) from error

    def _frame(self, kind, payload):
        mask = os.urandom(4)
        length = len(payload)
        if length < 126:
            head = struct.pack("!BB", 128 | kind, 128 | length)
        elif length < 65536:
            head = struct.pack("!BBH", 128 | kind, 128 | 126, length)
        else:
            head = struct.pack("!BBQ", 128 | kind, 128 | 127, length)
        repeated = (mask * (length // 4 + 1))[:length]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(length, "big") if length else b""
        self.writer.write(head + mask + masked)

    async def close(self):
        """Closes in order, and waits for the server's closing frame."""
        try:
            self._frame(CLOSE, struct.pack("!H", 1000))
            async with asyncio.timeout(5):
                while True:
                    await self.receive()
        except (Closure, TimeoutError, ConnectionError):
            pass
        self.abort()

    def abort(self):
        self.writer.transport.abort()
