"""Samples of the processes of the gateway: memory, descriptors, threads, and gauges of open work."""

import os
import time
from collections import defaultdict
from pathlib import Path

GAUGES = ("headgate_in_flight", "headgate_websockets", "headgate_connections", "headgate_deliveries_pending", "headgate_state_up")


def provider_inodes(ports):
    """Inodes of the sockets whose peer is one of these ports: connections to providers, which wait for their next request."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[2].split(":")[1], 16) in ports:
            inodes.add(fields[9])
    return inodes


def sample(pid, started, to_providers):
    """Memory without the pages of files, descriptors and threads of a process, or None if it has exited."""
    try:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        if "VmRSS" not in status:
            return None
        of_files = upstream = 0
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if target.startswith("socket:[") and target[8:-1] in to_providers:
                upstream += 1
            else:
                of_files += 1
    except OSError:
        return None
    kilobytes = {name: int(status[name].split()[0]) for name in ("VmRSS", "RssAnon", "RssShmem")}
    return {
        "at": round(time.monotonic() - started, 2),
        "memory": (kilobytes["RssAnon"] + kilobytes["RssShmem"]) * 1024,
        "resident": kilobytes["VmRSS"] * 1024,
        "descriptors": of_files,
        "provider_connections": upstream,
        "threads": int(status["Threads"]),
    }


def parse_metrics(text):
    """Sums of all series by name, and each series by its name with labels."""
    sums, series = defaultdict(float), {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            series[name] = float(value)
            sums[name.split("{")[0]] += float(value)
    return sums, series


class Sampler:
    def __init__(self, caller, gateway, started, provider_ports):
        self.caller, self.gateway, self.started, self.provider_ports = caller, gateway, started, provider_ports
        self.problems = []
        # Whether nothing is open, so that what is left counts.
        self.is_lull = False
        self.metrics = {}
        self.series = {}

    async def take(self):
        """Adds a sample to each generation that runs. Reads the metrics of the newest."""
        self.gateway.reap()
        inodes = provider_inodes(self.provider_ports)
        for generation in self.gateway.generations:
            if generation.exited is None and (taken := sample(generation.pid, self.started, inodes)):
                taken["is_lull"] = self.is_lull
                generation.samples.append(taken)
        try:
            response = await self.caller.admin_page("GET", "/metrics")
        except Exception as error:
            self.problems.append(f"/metrics after {time.monotonic() - self.started:.0f} s: {error!r}")
            return dict.fromkeys(GAUGES, float("nan"))
        self.metrics, self.series = parse_metrics(response.body.decode())
        gauges = {name: self.metrics.get(name, 0.0) for name in GAUGES}
        if samples := self.gateway.newest.samples:
            samples[-1].update(gauges)
        return gauges
