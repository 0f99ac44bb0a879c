"""An HTTP/1.1 client with persistent connections, which can leave or read slowly in the middle of a response."""

import asyncio
import json
import time
from dataclasses import dataclass, field

LINE_MAX = 1 << 20


class ConnectionEnd(Exception):
    """The connection ended before the response was complete; `received` is the number of bytes of the body, None without a head."""

    def __init__(self, received, request_id="-"):
        super().__init__(f"the connection ended after {received} bytes of the body")
        self.received, self.request_id = received, request_id
        # The end of what was received.
        self.body = b""


class Leave(Exception):
    """Raised by a reader of pieces to close the connection in the middle of the response."""


@dataclass
class Response:
    status: int
    headers: dict
    body: bytes = b""
    bytes_total: int = 0
    left: bool = False

    @property
    def request_id(self):
        return self.headers.get("x-request-id", "-")

    def json(self):
        return json.loads(self.body)


@dataclass
class HttpClient:
    """Connections to one address. `idle_ends` has the times at which an idle connection was found closed."""

    host: str
    port: int
    idle: list = field(default_factory=list)
    idle_ends: list = field(default_factory=list)

    async def request(self, method, path, headers, body=b"", on_piece=None, timeout=60.0):
        """The response; `on_piece(piece)` gets each piece of the body, of which only the end is then in the response."""
        async with asyncio.timeout(timeout):
            while self.idle:
                connection = self.idle.pop()
                try:
                    return await self._exchange(connection, method, path, headers, body, on_piece)
                except ConnectionEnd as end:
                    # The server may close an idle connection while the request is on its way (RFC 9112, section 9.3.1).
                    if end.received is not None:
                        raise
                    self.idle_ends.append(time.monotonic())
            connection = await asyncio.open_connection(self.host, self.port, limit=LINE_MAX)
            return await self._exchange(connection, method, path, headers, body, on_piece)

    async def _exchange(self, connection, method, path, headers, body, on_piece):
        reader, writer = connection
        reusable = False
        try:
            await _send(writer, self._head(method, path, headers, body), body)
            response = await _read_head(reader)
            reusable = await _read_body(reader, response, method, on_piece)
            return response
        except Leave:
            response.left = True
            return response
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise ConnectionEnd(None) from error
        finally:
            if reusable:
                self.idle.append(connection)
            else:
                writer.transport.abort()

    def _head(self, method, path, headers, body):
        lines = [f"{method} {path} HTTP/1.1", f"host: {self.host}:{self.port}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body or method in ("POST", "PUT", "PATCH"):
            lines.append(f"content-length: {len(body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def close(self):
        """Closes all idle connections."""
        while self.idle:
            self.idle.pop()[1].transport.abort()


async def _send(writer, head, body):
    try:
        writer.write(head + body if len(body) < 65536 else head)
        if len(body) >= 65536:
            writer.write(body)
        await writer.drain()
    except ConnectionError:
        # The server may have responded before it read the whole body.
        pass


async def _read_head(reader):
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise ConnectionEnd(None)
    status = int(line.split()[1])
    headers = {}
    while (line := await reader.readline()) not in (b"\r\n", b"\n"):
        if not line:
            raise ConnectionEnd(None)
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return await _read_head(reader) if status == 100 else Response(status, headers)


async def _read_body(reader, response, method, on_piece):
    """Reads the body, and returns whether the connection can be used again."""
    headers, pieces = response.headers, []

    async def take(piece):
        response.bytes_total += len(piece)
        if on_piece is None:
            pieces.append(piece)
        else:
            pieces.append(piece)
            # The last events are what decides how a stream ended.
            while len(pieces) > 1 and sum(map(len, pieces[1:])) > 16384:
                pieces.pop(0)
            await on_piece(piece)

    try:
        if method == "HEAD" or response.status in (204, 304):
            pass
        elif headers.get("transfer-encoding") == "chunked":
            await _read_chunks(reader, take)
        elif "content-length" in headers:
            remaining = int(headers["content-length"])
            while remaining:
                piece = await reader.read(min(remaining, 65536))
                if not piece:
                    raise asyncio.IncompleteReadError(b"", remaining)
                remaining -= len(piece)
                await take(piece)
        else:
            while piece := await reader.read(65536):
                await take(piece)
            return False
    except (ConnectionError, asyncio.IncompleteReadError) as error:
        end = ConnectionEnd(response.bytes_total, response.request_id)
        end.body = b"".join(pieces)
        raise end from error
    finally:
        response.body = b"".join(pieces)
    return headers.get("connection", "").lower() != "close"


async def _read_chunks(reader, take):
    while True:
        size = await reader.readline()
        if not size.endswith(b"\n"):
            raise asyncio.IncompleteReadError(size, None)
        size = int(size.split(b";")[0], 16)
        remaining = size
        while remaining:
            piece = await reader.read(min(remaining, 65536))
            if not piece:
                raise asyncio.IncompleteReadError(b"", remaining)
            remaining -= len(piece)
            await take(piece)
        await reader.readexactly(2)
        if not size:
            return
