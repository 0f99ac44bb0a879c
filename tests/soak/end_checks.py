"""Checks after the load: nothing is open, nothing is unsettled, each task was reported, and the logs have no defect."""

import asyncio
import json
import subprocess
import time
from collections import Counter
from datetime import datetime
from decimal import Decimal

from configuration import APP, APP_BUDGET

SETTLE_SECONDS_MAX = 120


async def await_zero(sampler, names, seconds):
    """Waits until these gauges are 0; returns those that are not."""
    deadline = time.monotonic() + seconds
    while True:
        gauges = await sampler.take()
        left = {name: gauges[name] for name in names if gauges[name]}
        if not left or time.monotonic() > deadline:
            return left
        await asyncio.sleep(1)


async def check_end(run):
    """Problems after the end of the load, and lines for the report."""
    problems, lines = [], []
    names = ("headgate_in_flight", "headgate_websockets", "headgate_deliveries_pending")
    if left := await await_zero(run.sampler, names, SETTLE_SECONDS_MAX):
        problems.append(f"not 0 after the load: {left}")
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    caller, receiver = run.caller, run.caller.receiver
    while (missing := caller.created_tasks - receiver.ended_tasks) and time.monotonic() < deadline:
        await asyncio.sleep(1)
    if missing:
        names = f"{len(missing)} of {len(caller.created_tasks)} tasks with a callback"
        problems.append(f"{names} were never reported as ended: {sorted(missing)[:3]}")
    problems += receiver.problems[:10]
    lines.append(f"callbacks: {len(caller.created_tasks)} tasks, {dict(receiver.counts)}")
    await _check_budget(run, problems, lines)
    _check_unsettled(run, problems, lines)
    _read_process_log(run, problems, lines)
    return problems, lines


async def _check_budget(run, problems, lines):
    """Of the budget of the caller `app` remains what its log lines have not charged: no reservation is left."""
    body = {"model": "demo-chat", "messages": [{"role": "user", "content": "Hi"}]}
    await run.caller.call("last request", "POST", "/v1/chat/completions", body, key=APP)
    await asyncio.sleep(2)
    await run.sampler.take()
    series = run.sampler.series.items()
    remaining = [value for name, value in series if name.startswith("headgate_budget_remaining") and 'caller="app"' in name]
    charged, settlements, codes = Decimal(0), Counter(), Counter()
    with open(run.folder / "access.log", "rb") as log:
        for line in log:
            record = json.loads(line, parse_float=Decimal)
            settlements[record.get("settlement")] += 1
            codes[record.get("error_code")] += 1
            if record.get("caller") == "app":
                charged += Decimal(record.get("budget_charge", 0))
    lines.append(f"access log: {sum(settlements.values())} lines, settlements {dict(settlements.most_common())}")
    lines.append(f"access log: error codes {dict(codes.most_common())}")
    if codes["internal_error"]:
        problems.append(f"{codes['internal_error']} requests ended with internal_error")
    if remaining:
        open_amount = Decimal(APP_BUDGET) - Decimal(str(remaining[0])) - charged
        lines.append(f"budget of `app`: charged {charged}, neither charged nor left {open_amount:.6f}")
        # The log has what creates have reserved, of which cancelled videos and batches give back; and while Redis is unreachable,
        # requests are admitted without a reservation. So less may be used up than the log charges, but not more.
        if open_amount > Decimal("0.01"):
            problems.append(f"{open_amount:.6f} of the budget of `app` is reserved without a request in flight")


def _check_unsettled(run, problems, lines):
    """Creates of unknown outcome began in the window of a fault."""
    command = [run.gateway.program, "task", "unknown", "--json", "--config", str(run.gateway.config)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if result.returncode:
        problems.append(f"headgate task unknown: exit {result.returncode}: {result.stderr[-300:]}")
        return
    listed = json.loads(result.stdout or "[]")
    offset = time.time() - time.monotonic()
    counts = Counter()
    for create in listed:
        at = datetime.fromisoformat(create["time"].replace("Z", "+00:00")).timestamp() - offset
        causes = [it.cause for it in run.ledger.windows if it.begin - 35 <= at <= (it.end or at)]
        counts[f"{create['reason']}, {causes[0] if causes else 'no cause'}"] += 1
        if not causes:
            problems.append(f"unsettled create without a cause: {create}")
    lines.append(f"creates that are not settled: {dict(counts) or 'none'}")


def _read_process_log(run, problems, lines):
    """Counts warnings and errors of the process log by message."""
    counts = Counter()
    with open(run.folder / "process.log", encoding="utf-8", errors="replace") as log:
        for line in log:
            try:
                record = json.loads(line)
            except ValueError:
                # Reports of configurations that a new process refuses.
                counts["line that is no JSON" if "panic" not in line else f"panic: {line.strip()[:200]}"] += 1
                continue
            level = record.get("level", "")
            if level in ("WARN", "ERROR"):
                message = record.get("fields", record).get("message", "").partition("\n")[0]
                counts[f"{level} {message}"] += 1
    if panics := [message for message in counts if "panic" in message]:
        problems.append(f"the process log has a panic: {panics[:2]}")
    lines += [f"process log: {count} × {message}" for message, count in counts.most_common(40)]
