"""Drives mixed load through a gateway for some minutes, and fails on growth and on errors without a planted cause."""

import argparse
import asyncio
import contextlib
import random
import resource
import shutil
import signal
import socket
import sys
import time
from pathlib import Path

import client_faults
import end_checks
import file_requests
import report
import text_requests
import video_requests
from caller import Caller
from configuration import WEBHOOK_SECRET, Addresses
from hostile_provider import HostileProvider
from http_client import HttpClient
from ledger import Abandon, Ledger, RequestError
from operators import Operators
from processes import Gateway, Redis, Simulator, adopt_orphans
from receiver import Receiver
from samples import Sampler
from sessions import Sessions
from store_probe import StoreProbe

ROOT = Path(__file__).resolve().parents[2]
MODULES = (text_requests, file_requests, video_requests, client_faults)
SCENARIOS = [row for module in MODULES for row in module.SCENARIOS]
LULL_SAMPLES = 5
# Requests of a scenario on average.
REQUESTS_PER_SCENARIO = 1.6
SCENARIOS_AT_ONCE_MAX = 400
# When processes are replaced, as shares of the run: the one in the middle lives long enough for its slopes.
UPGRADES_AT = (0.06, 0.12, 0.95)
REFUSED_UPGRADES_AT = (0.3, 0.6)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--program", required=True)
    parser.add_argument("--rate", type=float, default=50, help="requests per second")
    parser.add_argument("--sessions", type=int, default=4, help="open connections of each sort")
    parser.add_argument("--state", choices=("redis", "sqlite"), default="redis")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first-port", type=int, default=0, help="the first of 7 ports; default: free ones")
    parser.add_argument("--folder", type=Path, default=ROOT / "target" / "soak")
    return parser.parse_args()


def addresses(first_port):
    """Seven ports: those from `first_port`, or free ones."""
    if first_port:
        return Addresses(*range(first_port, first_port + 7))
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(7)]
    ports = [it.getsockname()[1] for it in sockets]
    for it in sockets:
        it.close()
    return Addresses(*ports)


class Run:
    """A run with all its parts."""

    def __init__(self, options):
        self.options = options
        self.folder = options.folder.resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.at = addresses(options.first_port)
        self.started = time.monotonic()
        self.ledger = Ledger(self.started)
        self.hostile = HostileProvider(self.ledger.faults_by_request)
        self.first = Simulator(options.program, self.at.first, self.folder)
        self.second = Simulator(options.program, self.at.second, self.folder)
        self.redis = Redis(self.at.redis, self.folder)
        self.gateway = Gateway(options.program, self.folder / "routes.yaml", self.folder)
        client, admin = HttpClient("127.0.0.1", self.at.gateway), HttpClient("127.0.0.1", self.at.admin)
        self.caller = Caller(client, admin, self.ledger, Receiver(WEBHOOK_SECRET), random.Random(options.seed))
        # A busy machine is no fault of the store.
        state = {"redis": {"url": f"redis://127.0.0.1:{self.at.redis}/0", "timeout": "1s"}}
        self.probes = [StoreProbe(self.ledger, self.at.redis)]
        if options.state == "sqlite":
            self.probes = []
            state = f"sqlite:{self.folder}/state.sqlite"
        shipped = (ROOT / "routes.yaml").read_text()
        self.operators = Operators(
            self.caller, self.gateway, self.redis, self.second, shipped, self.at, state, self.folder, options.minutes
        )
        ports = {self.at.first, self.at.second, self.at.hostile, self.at.redis, self.at.receiver}
        self.sampler = Sampler(self.caller, self.gateway, self.started, ports)
        self.sessions = Sessions(self.caller, options.sessions)
        self.tasks = set()
        self.problems = []

    async def start(self):
        await self.hostile.start(self.at.hostile)
        await self.caller.receiver.start(self.at.receiver)
        await self.redis.start()
        await self.first.start()
        await self.second.start()
        self.operators.write()
        await self.gateway.start(self.at.gateway)
        self.started = self.ledger.started = self.sampler.started = time.monotonic()

    async def work(self):
        """The load with all faults, for the minutes of the run."""
        seconds = self.options.minutes * 60
        self.end = self.started + seconds
        replacements = [(share, self.operators.upgrade) for share in UPGRADES_AT]
        replacements += [(share, self.operators.refused_upgrade) for share in REFUSED_UPGRADES_AT]
        replacements.sort(key=lambda it: it[0])
        works = [self.operators.work(), self._sample(), *(probe.work() for probe in self.probes)]
        works = [asyncio.create_task(work) for work in works]
        lull_interval = max(40.0, seconds / 24)
        self.sessions.resume()
        next_lull = time.monotonic() + lull_interval
        while (now := time.monotonic()) < self.end:
            await self._begin_scenario()
            for task in works:
                if task.done():
                    task.result()
            if replacements and now >= self.started + replacements[0][0] * seconds:
                self._spawn(self._as_operator(replacements.pop(0)[1]))
            if now >= next_lull:
                await self._lull()
                self.sessions.resume()
                next_lull = time.monotonic() + lull_interval
                print(self._progress(), flush=True)
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        # The last file may have been an invalid one.
        self.operators.write()
        await self._lull()

    def end_early(self):
        """Ends the load now; the checks and the report follow."""
        self.end = time.monotonic()

    async def _begin_scenario(self):
        await asyncio.sleep(self.caller.random.expovariate(self.options.rate / REQUESTS_PER_SCENARIO))
        if len(self.tasks) < SCENARIOS_AT_ONCE_MAX:
            scenarios, weights = zip(*SCENARIOS)
            self._spawn(self._scenario(self.caller.random.choices(scenarios, weights)[0]))

    async def _scenario(self, scenario):
        begun = time.monotonic()
        try:
            await scenario(self.caller)
        except Abandon:
            pass
        except Exception as error:
            # What a scenario does not understand is an error of the response, or of the scenario.
            self.ledger.fail(scenario.__name__, RequestError(0, "unexpected", "-", repr(error)), begun)

    async def _as_operator(self, operation):
        try:
            await operation()
        except Exception as error:
            self.problems.append(f"{operation.__name__}: {error!r}")

    def _spawn(self, coroutine):
        task = asyncio.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _sample(self):
        while True:
            await asyncio.sleep(5)
            await self.sampler.take()

    async def _lull(self):
        """Lets everything that runs end, and samples what is left: nothing may be open."""
        async with self.operators.exclusive:
            await self.sessions.pause()
            if self.tasks:
                await asyncio.wait(set(self.tasks), timeout=60)
            if self.tasks:
                self.problems.append(f"{len(self.tasks)} scenarios had not ended after 60 s")
            self.caller.gateway.close()
            names = ("headgate_in_flight", "headgate_websockets")
            if left := await end_checks.await_zero(self.sampler, names, 15):
                self.problems.append(f"not 0 in a lull after {time.monotonic() - self.started:.0f} s: {left}")
            for _ in range(LULL_SAMPLES):
                await self._trickle()
                await asyncio.sleep(1)
                self.sampler.is_lull = True
                await self.sampler.take()
            self.sampler.is_lull = False

    async def _trickle(self):
        """A few requests, one after the other: an allocator returns what is free only when its threads use it."""
        for _ in range(4):
            for _ in range(8):
                with contextlib.suppress(Abandon):
                    await text_requests.small_chat(self.caller)
            # The next connection may be another worker's.
            self.caller.gateway.close()

    def _progress(self):
        newest = self.gateway.newest
        last = newest.samples[-1]
        descriptors = f"{last['descriptors']} + {last['provider_connections']} descriptors"
        return (
            f"{last['at']:6.0f} s: {self.ledger.requests_total()} requests, {self.ledger.unexplained_total()} unexplained; "
            f"process {newest.number}: {last['memory'] / 2**20:.1f} MB, {descriptors}, {last['threads']} threads"
        )

    async def finish(self):
        """The checks after the load, the report, and the verdict."""
        problems, lines = await end_checks.check_end(self)
        await self.gateway.stop()
        idle_ends = self.caller.gateway.idle_ends
        lines.append(f"idle connections that the gateway had closed when the next request came: {len(idle_ends)}")
        for part in (self, self.caller, self.operators, self.gateway, self.sampler):
            problems += part.problems
        return report.write(self, problems, lines)

    def stop(self):
        for process in (self.first, self.second, self.redis):
            process.stop()


async def main():
    options = arguments()
    # Thousands of connections at once need as many descriptors.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    adopt_orphans()
    run = Run(options)
    try:
        await run.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, run.end_early)
        try:
            await run.work()
        except RuntimeError as error:
            report.write(run, [str(error)], [])
            return False
        return await run.finish()
    finally:
        with contextlib.suppress(Exception):
            await run.gateway.stop()
        run.stop()


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(main()) else 1)
