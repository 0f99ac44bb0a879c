"""Measures the store while it is used: errors in a time in which the machine was too slow for it have that cause."""

import asyncio

from operators import GRACE_SECONDS, STORE_CODES

INTERVAL_SECONDS = 0.1
# Half of the timeout that the gateway has for the store.
SLOW_SECONDS = 0.5
CAUSE = f"store slower than {SLOW_SECONDS} s, as measured"


class StoreProbe:
    def __init__(self, ledger, port):
        self.ledger, self.port = ledger, port

    async def work(self):
        """Asks the store again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            ping = asyncio.create_task(self._ping())
            done, _ = await asyncio.wait({ping}, timeout=SLOW_SECONDS)
            if not done:
                window = self.ledger.open_window(CAUSE, STORE_CODES)
                window.begin -= 2 * SLOW_SECONDS
                await asyncio.wait({ping})
                self.ledger.close_window(window, GRACE_SECONDS)

    async def _ping(self):
        """Returns with the reply, or when the store is gone, which is a planted fault."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(b"PING\r\n")
            await reader.readline()
            writer.close()
        except OSError:
            pass
