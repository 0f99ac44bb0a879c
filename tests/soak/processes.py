"""The processes of a run: the simulated providers, Redis, and the gateway with the processes that replace it."""

import asyncio
import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
# `drain` of the configuration, and what docs/operations.md adds.
EXIT_SECONDS_MAX = 30 + 15


@dataclass
class Generation:
    """One process of the gateway."""

    number: int
    pid: int
    began: float
    replaced: float | None = None
    exited: float | None = None
    samples: list = field(default_factory=list)


def adopt_orphans():
    """Makes this process the parent of gateways whose own parent has exited, so that none is left over."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


async def await_port(port, seconds=30):
    deadline = time.monotonic() + seconds
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise SystemExit(f"soak: nothing listens on port {port}") from None
            await asyncio.sleep(0.05)


def exit_status(pid):
    """How a process has ended, or None if it runs. Only children have a status."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
        return f"status {status}" if ended else None
    except ChildProcessError:
        return None if Path(f"/proc/{pid}").exists() else "no status"


class Simulator:
    """A simulated provider."""

    def __init__(self, program, port, folder):
        self.program, self.port, self.folder = program, port, folder
        self.process = None

    async def start(self):
        with open(self.folder / f"simulator-{self.port}.log", "ab") as log:
            options = ["--listen", f"127.0.0.1:{self.port}", "--event-ms", "5", "--no-record", "--workers", "2"]
            command = [self.program, "simulate", *options]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        await await_port(self.port)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Redis:
    """A Redis that writes each command to disk, so that it can be killed."""

    def __init__(self, port, folder):
        self.port, self.folder = port, folder
        self.process = None

    async def start(self):
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        options += ["--appendonly", "yes", "--appendfsync", "everysec", "--loglevel", "warning"]
        with open(self.folder / "redis.log", "ab") as log:
            self.process = subprocess.Popen(["redis-server", *options], stdout=log, stderr=log)
        await await_port(self.port)
        while not await self._is_ready():
            await asyncio.sleep(0.1)

    async def _is_ready(self):
        """Whether it has read its file: until then it refuses commands."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"PING\r\n")
        reply = await reader.readline()
        writer.close()
        return reply.startswith(b"+PONG")

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Gateway:
    """The gateway, and all processes that have served its address, the newest last."""

    def __init__(self, program, config, folder):
        self.program, self.config, self.folder = program, config, folder
        self.generations = []
        self.problems = []

    @property
    def newest(self):
        return self.generations[-1]

    async def start(self, port):
        self._spawn([])
        await await_port(port)
        self.generations.append(Generation(1, self.pids()[0], time.monotonic()))

    def _spawn(self, options):
        with open(self.folder / "access.log", "ab") as access, open(self.folder / "process.log", "ab") as log:
            command = [self.program, "run", "--config", str(self.config), *options]
            subprocess.Popen(command, stdout=access, stderr=log, stdin=subprocess.DEVNULL)

    def pids(self):
        """The processes that serve the configuration of this run."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"\0{self.config}\0".encode() in (entry / "cmdline").read_bytes() + b"\0":
                    if (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                        found.append(int(entry.name))
            except OSError:
                continue
        return found

    async def upgrade(self):
        """Replaces the newest process, in turn by SIGUSR2 and by a start with `--upgrade`. Returns the way."""
        before = self.newest
        way = "SIGUSR2" if len(self.generations) % 2 else "--upgrade"
        if way == "SIGUSR2":
            os.kill(before.pid, signal.SIGUSR2)
        else:
            self._spawn(["--upgrade"])
        deadline = time.monotonic() + 60
        known = {generation.pid for generation in self.generations}
        while not (new := [pid for pid in self.pids() if pid not in known]):
            if time.monotonic() > deadline:
                self.problems.append(f"no new process after an upgrade by {way}")
                return way
            await asyncio.sleep(0.1)
        before.replaced = time.monotonic()
        self.generations.append(Generation(before.number + 1, new[0], time.monotonic()))
        return way

    def reap(self):
        """Notes the processes that have exited, and those that should have."""
        for generation in self.generations:
            if generation.exited is None and (status := exit_status(generation.pid)):
                generation.exited = time.monotonic()
                if generation is self.newest:
                    log = self.folder / "process.log"
                    raise RuntimeError(f"process {generation.number} of the gateway has ended: {status}; see {log}")
            elif generation.exited is None and generation.replaced:
                if time.monotonic() - generation.replaced > EXIT_SECONDS_MAX:
                    self.problems.append(f"process {generation.number} has not exited {EXIT_SECONDS_MAX} s after its replacement")
                    generation.exited = time.monotonic()

    async def stop(self):
        for pid in self.pids():
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + EXIT_SECONDS_MAX
        while self.pids() and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        if left := self.pids():
            self.problems.append(f"{len(left)} processes have not stopped after SIGTERM")
            for pid in left:
                os.kill(pid, signal.SIGKILL)
