"""Attacks of a gateway by slowhttptest, each with a healthy caller beside it: see run.sh."""

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

from healthy_caller import TIMEOUT_SECONDS, HealthyCaller, create_video
from process_samples import ProcessSamples
from slow_test_gateway import KEY, SlowTestGateway

# Bytes of the video that slow readers request: more than the system keeps of it for each, and not so much that those of the provider,
# on the same machine, take all of the memory for TCP.
VIDEO_BYTES = 1_000_000
# Seconds in which descriptors return after an attack.
RETURN_SECONDS_MAX = 30
# Descriptors that may be left: idle connections to the provider.
DESCRIPTORS_LEFT_MAX = 32


@dataclass(frozen=True)
class Attack:
    """A mode of slowhttptest: its options, the path, the duration in seconds, and the memory for each connection."""

    options: tuple
    path: str
    seconds: int
    bytes_per_connection: int
    # Whether the gateway ends the connections before slowhttptest does.
    is_ended: bool = True


# Longer than the timeout that ends them: header_timeout 15 s, body_timeout 60 s, write_timeout 30 s.
ATTACKS = {
    "headers": Attack(("-H", "-i", "2", "-x", "24"), "/v1/models", 45, 64 << 10),
    "body": Attack(
        ("-B", "-i", "2", "-x", "10", "-s", "8192", "-t", "POST", "-f", "application/json"), "/v1/chat/completions", 90, 64 << 10
    ),
    "read": Attack(("-X", "-n", "1", "-z", "5", "-w", "10", "-y", "20"), "/v1/videos/{video}/content", 75, 256 << 10),
    "range": Attack(("-R", "-a", "5", "-b", "3000", "-t", "GET"), "/v1/videos/{video}/content", 30, 64 << 10, False),
}


def main():
    arguments = parse_arguments()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        with SlowTestGateway(arguments.program, Path(folder)) as gateway:
            return run_attacks(arguments, gateway, Path(folder))


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("attacks", nargs="*", choices=[*ATTACKS, []], help="modes; all by default")
    return parser.parse_args()


def run_attacks(arguments, gateway, folder):
    video = create_video(gateway.url, KEY, VIDEO_BYTES)
    print(f"{'attack':8} {'slow':>5} {'closed':>6} {'replies':>7} {'failed':>6} {'p50':>8} {'p99':>8} {'max':>8} {'memory':>9} descriptors")
    problems = []
    for name in arguments.attacks or ATTACKS:
        problems += run_attack(name, arguments.connections, gateway, video, folder)
    for problem in problems:
        print(f"FAILED {problem}")
    return 1 if problems else 0


def run_attack(name, connections, gateway, video, folder):
    """Runs an attack, prints its row, and returns what is wrong."""
    attack = ATTACKS[name]
    with ProcessSamples(gateway.process.pid) as samples, HealthyCaller(gateway.url, KEY) as caller:
        # What an attack changes is compared with the second before it.
        time.sleep(1)
        before = samples.last
        run = slowhttptest(attack, gateway.url + attack.path.format(video=video), connections, folder / name, samples)
        peak = samples.peak
        after = samples.until_descriptors(before.descriptors + DESCRIPTORS_LEFT_MAX, RETURN_SECONDS_MAX)
    last = run.rows[-1]
    # What the gateway has open: slowhttptest reads for minutes what it received before a connection was reset.
    left = run.descriptors - before.descriptors
    open_at_end = 0 if run.is_over or left <= DESCRIPTORS_LEFT_MAX else min(left, last.total)
    growth = peak.memory - before.memory
    # Where replies come at once, slowhttptest ends as soon as no connection is open, and its last row is of a second before that.
    opened_min = connections if attack.is_ended else connections // 2
    times = sorted(caller.seconds) or [float("inf")]
    at = lambda share: f"{1000 * times[min(len(times) - 1, int(share * len(times)))]:.1f} ms"
    print(
        f"{name:8} {last.total:5} {last.total - open_at_end:6} {len(caller.seconds):7} {len(caller.failures):6} {at(0.5):>8} {at(0.99):>8} {at(1):>8}"
        f" {growth / 1e6:6.1f} MB {before.descriptors} to {peak.descriptors}, then {after.descriptors}",
        flush=True,
    )
    wrong = [
        (last.total < opened_min, f"{last.total} of {connections} connections were opened"),
        (attack.is_ended and open_at_end > 0, f"{open_at_end} slow connections stayed open"),
        (not all(row.is_available for row in run.rows), "slowhttptest found the service unavailable"),
        (bool(caller.failures), f"replies of the healthy caller: {caller.failures[:3]}"),
        (growth > connections * attack.bytes_per_connection, f"memory grew by {growth} bytes"),
        (after.descriptors > before.descriptors + DESCRIPTORS_LEFT_MAX, f"{after.descriptors} descriptors are left"),
        (gateway.process.poll() is not None, "the gateway ended"),
        ("panicked" in gateway.log(), "the gateway panicked"),
    ]
    return [f"{name}: {problem}" for is_wrong, problem in wrong if is_wrong]


@dataclass(frozen=True)
class StatusRow:
    """A second of slowhttptest: numbers of its connections by state, and whether its own probe got a reply."""

    closed: int
    pending: int
    connected: int
    is_available: bool

    @property
    def total(self):
        return self.closed + self.pending + self.connected


@dataclass(frozen=True)
class AttackRun:
    rows: list
    # Whether no connection was open before the time had passed.
    is_over: bool
    # The gateway's, half a second before the end.
    descriptors: int


def slowhttptest(attack, url, connections, prefix, samples):
    """Runs slowhttptest, against the gateway of these samples."""
    # The value of the cookie ends its line, so that the requests have the key of the caller.
    cookie = f"slow=1\r\nAuthorization: Bearer {KEY}"
    common = ["-c", connections, "-r", 200, "-l", attack.seconds, "-p", TIMEOUT_SECONDS, "-u", url, "-j", cookie, "-g", "-o", prefix, "-v", 1]
    command = ["slowhttptest", *attack.options, *map(str, common)]
    recent = deque([samples.last], maxlen=5)
    with open(f"{prefix}.txt", "w") as output:
        process = subprocess.Popen(command, stdout=output)
        while process.poll() is None:
            recent.append(samples.last)
            time.sleep(0.1)
    if process.returncode != 0:
        raise SystemExit(f"slowhttptest exits with {process.returncode}")
    with open(f"{prefix}.csv") as report:
        rows = list(csv.DictReader(report))
    # The column of the service has the number of connections if it is available, otherwise 0.
    counts = lambda row: [int(row[name]) for name in ("Closed", "Pending", "Connected")]
    rows = [StatusRow(*counts(row), int(row["Service Available"]) > 0) for row in rows]
    is_over = "No open connections left" in Path(f"{prefix}.txt").read_text()
    return AttackRun(rows, is_over, recent[0].descriptors)


if __name__ == "__main__":
    sys.exit(main())
