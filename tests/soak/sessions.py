"""Connections that stay: WebSockets of responses, realtime sessions, and connections without requests."""

import asyncio
import base64
import time

from configuration import APP
from ledger import RequestError
from websocket_client import Closure, Handshake, WebSocket

RESPONSES, REALTIME = "/v1/responses", "/v1/realtime?model=demo-voice"
TURNS_MAX = 40
# Half a second of sound, after which the simulated provider takes a turn for ended.
SOUND = base64.b64encode(bytes(24_000)).decode()


class Sessions:
    """A number of connections of each sort, which `pause` closes and `resume` opens again."""

    def __init__(self, caller, count):
        self.caller, self.count = caller, count
        self.tasks = []

    def resume(self):
        for _ in range(self.count):
            self.tasks.append(asyncio.create_task(self._repeat("websocket", RESPONSES, self._converse)))
            self.tasks.append(asyncio.create_task(self._repeat("realtime", REALTIME, self._speak)))
            self.tasks.append(asyncio.create_task(self._idle()))

    async def pause(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.tasks = []

    async def _repeat(self, kind, path, turns):
        while True:
            begun = time.monotonic()
            socket = None
            try:
                async with asyncio.timeout(60):
                    socket = await WebSocket.connect(
                        self.caller.gateway.host, self.caller.gateway.port, path, {"authorization": f"Bearer {APP}"}
                    )
                self.caller.ledger.succeed(f"{kind} opened", begun)
                async with asyncio.timeout(300):
                    await turns(kind, socket)
                await socket.close()
                self.caller.ledger.succeed(f"{kind} closed", begun)
            except Handshake as error:
                self.caller.enter(f"{kind} opened", RequestError(error.status, "handshake", "-", str(error.body)), begun)
            except Closure as error:
                self.caller.enter(f"{kind} closed", RequestError(0, f"closed {error.code}", "-", error.reason), begun)
            except (TimeoutError, OSError) as error:
                self.caller.enter(kind, RequestError(0, type(error).__name__, "-", str(error)), begun)
            finally:
                if socket:
                    socket.abort()
            await asyncio.sleep(0.5)

    async def _converse(self, kind, socket):
        """Turns of a conversation that only the connection knows."""
        previous = None
        for _ in range(self.caller.random.randint(1, TURNS_MAX)):
            begun = time.monotonic()
            request = {"type": "response.create", "model": "demo-chat", "input": "And then?", "store": False}
            if previous:
                request["previous_response_id"] = previous
            await socket.send(request)
            event = await self._until(socket, ("response.completed", "error"))
            if event["type"] == "error":
                error = event.get("error", {})
                failed = RequestError(event.get("status", 0), str(error.get("code")), "-", str(error))
                self.caller.enter(f"{kind} turn", failed, begun)
                previous = None
            else:
                self.caller.ledger.succeed(f"{kind} turn", begun)
                previous = event["response"]["id"]
            await asyncio.sleep(self.caller.random.random() * 2)

    async def _speak(self, kind, socket):
        """Turns of text and of sound with the provider's own replies."""
        await self._until(socket, ("session.created",))
        await socket.send({"type": "session.update", "session": {"type": "realtime", "output_modalities": ["text"]}})
        for turn in range(self.caller.random.randint(1, TURNS_MAX)):
            begun = time.monotonic()
            if turn % 3 == 2:
                await socket.send({"type": "input_audio_buffer.append", "audio": SOUND})
            else:
                item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And then?"}]}
                await socket.send({"type": "conversation.item.create", "item": item})
                await socket.send({"type": "response.create"})
            event = await self._until(socket, ("response.done", "error"))
            if event["type"] == "error":
                error = event.get("error", {})
                self.caller.enter(f"{kind} turn", RequestError(0, str(error.get("code")), "-", str(error)), begun)
            else:
                self.caller.ledger.succeed(f"{kind} turn", begun)
            await asyncio.sleep(self.caller.random.random() * 2)

    async def _until(self, socket, types):
        async with asyncio.timeout(60):
            while True:
                event = await socket.receive()
                if event.get("type") in types:
                    return event

    async def _idle(self):
        """A connection without a request, opened again whenever the gateway closes it."""
        while True:
            begun = time.monotonic()
            writer = None
            try:
                reader, writer = await asyncio.open_connection(self.caller.gateway.host, self.caller.gateway.port)
                await reader.read(1)
                self.caller.ledger.succeed("connection without a request", begun)
            except ConnectionResetError:
                self.caller.ledger.succeed("connection without a request", begun)
            except OSError as error:
                self.caller.enter("connection without a request", RequestError(0, "connect_error", "-", str(error)), begun)
            finally:
                if writer:
                    writer.transport.abort()
            await asyncio.sleep(0.5)
