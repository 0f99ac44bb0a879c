"""What operators do to the gateway while it works: reloads, upgrades, drains, and faults of the store and of a provider."""

import asyncio
import os
import signal
import subprocess

from configuration import ADMIN_KEY, render

# Codes that an unreachable store explains: what needs a record or an id is refused, and nothing else.
STORE_CODES = ("503", "529", "overloaded", "check_unavailable")
# What a client sends at the moment of the close meets a closed socket, and the reset takes the closing frame with it.
UPGRADE_CODES = ("closed 1001", "ConnectionResetError")
PROVIDER_CODES = (
    "502",
    "503",
    "504",
    "529",
    "stream_error upstream_error",
    "stream_error upstream_timeout",
    "stream_error api_error",
    "stream_error overloaded_error",
    "stream_error",
    "response_cut",
    "upstream_error",
    "upstream_timeout",
)
PAGES = (
    *("/", "/overview", "/findings", "/traffic", "/requests"),
    *("/channels", "/config", "/usage", "/callbacks", "/openapi.json"),
)
# How long after a fault requests may still fail: callers' polls, cool-downs and connections recover.
GRACE_SECONDS = 5


class Operators:
    def __init__(self, caller, gateway, redis, second, shipped, addresses, state, folder, minutes):
        self.caller, self.gateway, self.redis, self.second = caller, gateway, redis, second
        self.shipped, self.addresses, self.state, self.folder = shipped, addresses, state, folder
        self.seconds = minutes * 60
        self.revision = 0
        # While a process is replaced, the file does not change.
        self.is_upgrading = False
        self.done = []
        self.problems = []
        # Taken by whoever breaks or replaces something, so that causes do not overlap, and while the load is paused.
        self.exclusive = asyncio.Lock()

    def write(self, text=None):
        """Replaces the file at once, as editors and orchestrators do."""
        part = self.gateway.config.with_suffix(".part")
        part.write_text(text or render(self.shipped, self.addresses, self.state, self.folder, self.revision))
        part.replace(self.gateway.config)

    async def work(self):
        """All operations, until it is cancelled."""
        interval = max(8.0, self.seconds / 120)
        await asyncio.gather(
            self._every(interval, self._reload),
            self._every(interval * 2.7, self._drain),
            self._every(max(10.0, self.seconds / 150), self._read_pages),
            *([self._every(max(40.0, self.seconds / 12), self._exclusively, self._break_store)] if "redis" in self.state else []),
            self._every(max(55.0, self.seconds / 13), self._exclusively, self._break_provider),
        )

    async def _every(self, interval, operation, *arguments):
        while True:
            await asyncio.sleep(interval)
            try:
                await operation(*arguments)
            except Exception as error:
                self._note(f"{operation.__name__}: {error!r}")

    async def _exclusively(self, operation):
        async with self.exclusive:
            await operation()

    async def _reload(self):
        if self.is_upgrading:
            return
        self.revision += 1
        step = self.revision % 5
        if step == 0:
            await self._reload_invalid()
            return
        self.write()
        if step == 1:
            await asyncio.sleep(3)
        elif step == 2:
            os.kill(self.gateway.newest.pid, signal.SIGHUP)
        elif step == 3:
            await self._expect_page("POST", "/reload", 200)
        else:
            await self._command("reload")
        self.done.append("reload")

    async def _reload_invalid(self):
        """A file that is cut off: the configuration in use stays."""
        self.write(self._invalid())
        await self._expect_page("POST", "/reload", 422)
        self.done.append("refused reload")

    def _invalid(self):
        return render(self.shipped, self.addresses, self.state, self.folder, self.revision)[:-2000] + "\n  - {name: broken"

    async def _drain(self):
        await self._expect_page("POST", "/channels/drain?channel=second", 200)
        await asyncio.sleep(3)
        await self._expect_page("POST", "/channels/undrain?channel=second", 200)
        await self._expect_page("POST", "/channels/reset?channel=second", 200)
        self.done.append("drain")

    async def _read_pages(self):
        for page in PAGES:
            await self._expect_page("GET", page, 200)
        self.done.append("pages read")

    async def _break_store(self):
        """Redis hangs, or is killed and started again."""
        is_kill = self.done.count("store killed") <= self.done.count("store hung")
        what = "store killed" if is_kill else "store hung"
        window = self.caller.ledger.open_window(what, STORE_CODES)
        if is_kill:
            self.redis.stop()
            await asyncio.sleep(5)
            await self.redis.start()
        else:
            self.redis.pause()
            await asyncio.sleep(5)
            self.redis.resume()
        self.caller.ledger.close_window(window, GRACE_SECONDS)
        self.done.append(what)

    async def _break_provider(self):
        """The second provider hangs, or is killed and started again; the first one serves the same model."""
        is_kill = self.done.count("provider killed") <= self.done.count("provider hung")
        what = "provider killed" if is_kill else "provider hung"
        window = self.caller.ledger.open_window(what, PROVIDER_CODES, ("chat", "messages", "responses", "websocket"))
        if is_kill:
            self.second.stop()
            await asyncio.sleep(5)
            await self.second.start()
        else:
            self.second.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(5)
            self.second.process.send_signal(signal.SIGCONT)
        self.caller.ledger.close_window(window, GRACE_SECONDS)
        self.done.append(what)

    async def upgrade(self):
        """Replaces the process; WebSockets are told to connect again, and connections without a request are closed."""
        async with self.exclusive:
            window = self.caller.ledger.open_window("upgrade", UPGRADE_CODES, ("websocket", "realtime"))
            self.write()
            self.is_upgrading = True
            way = await self.gateway.upgrade()
            self.caller.ledger.close_window(window, 45)
            self.is_upgrading = False
            self.done.append(f"upgrade by {way}")

    async def refused_upgrade(self):
        """A new process that refuses its configuration: the running process keeps serving."""
        async with self.exclusive:
            self.is_upgrading = True
            before = self.gateway.newest.pid
            self.write(self._invalid())
            os.kill(before, signal.SIGUSR2)
            await asyncio.sleep(8)
            known = {generation.pid for generation in self.gateway.generations}
            if before not in (pids := self.gateway.pids()) or set(pids) - known:
                self._note(f"after a refused upgrade, processes {pids} instead of {before}")
            self.write()
            self.is_upgrading = False
            self.done.append("refused upgrade")

    async def _expect_page(self, method, page, status):
        try:
            response = await self.caller.admin_page(method, page)
        except Exception as error:
            self._note(f"{method} {page}: {error!r}")
            return
        needs_store = page == "/callbacks" or page == "/usage"
        if needs_store and response.status == 503 and self.caller.ledger.is_in_window("store"):
            return
        if response.status != status:
            self._note(f"{method} {page}: status {response.status} instead of {status}: {response.body[:300]!r}")

    async def _command(self, *arguments):
        """Runs a command of the program against the admin pages."""
        environment = {**os.environ, "HEADGATE_ADMIN_KEY": ADMIN_KEY}
        command = [self.gateway.program, *arguments, "--admin", f"http://127.0.0.1:{self.addresses.admin}"]
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, errors = await process.communicate()
        if process.returncode:
            self._note(f"headgate {' '.join(arguments)}: exit {process.returncode}: {errors.decode()[-300:]}")

    def _note(self, problem):
        if len(self.problems) < 50:
            self.problems.append(problem)
