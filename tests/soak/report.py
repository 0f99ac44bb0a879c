"""The report of a run: tables as text, samples as JSON, and the verdict."""

import json
from collections import Counter

from slopes import slopes


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def write(run, problems, lines):
    """Prints the tables, writes the samples, and returns whether the run has passed."""
    verdicts = list(problems)
    _print_kinds(run.ledger)
    _print_causes(run.ledger)
    _print_latencies(run.ledger)
    verdicts += _print_slopes(run.gateway)
    print("\noperations: " + ", ".join(f"{count} × {name}" for name, count in Counter(run.operators.done).most_common()))
    for line in lines:
        print(line)
    if unexplained := run.ledger.unexplained_total():
        verdicts.append(f"{unexplained} errors without a planted cause")
        for error in run.ledger.unexplained[:20]:
            print("unexplained:", json.dumps(error))
    _write_samples(run)
    for problem in problems:
        print("problem:", problem)
    print(f"soak: failed: {'; '.join(map(str, verdicts))[:2000]}" if verdicts else "soak: passed")
    return not verdicts


def _print_kinds(ledger):
    print(f"\n| {'request':44} | {'sent':>7} | {'succeeded':>9} | {'planted':>7} | {'unexplained':>11} |")
    print(f"|{'-' * 46}|{'-' * 8}:|{'-' * 10}:|{'-' * 8}:|{'-' * 12}:|")
    rows = sorted(ledger.kinds.items())
    for kind, it in rows:
        print(f"| {kind:44} | {it.sent:7} | {it.succeeded:9} | {sum(it.planted.values()):7} | {it.unexplained:11} |")
    sent, succeeded = (sum(getattr(it, name) for _, it in rows) for name in ("sent", "succeeded"))
    planted = sum(sum(it.planted.values()) for _, it in rows)
    print(f"| {'all':44} | {sent:7} | {succeeded:9} | {planted:7} | {ledger.unexplained_total():11} |")


def _print_causes(ledger):
    causes = Counter()
    for counts in ledger.kinds.values():
        causes.update(counts.planted)
    print("\nerrors by planted cause, with the status and the code that callers got:")
    for cause, count in sorted(causes.items()):
        print(f"  {count:6} {cause}")


def _print_latencies(ledger):
    minutes = sorted(ledger.latencies)
    step = max(1, len(minutes) // 15)
    print("\nlatency of whole responses, ms:")
    for minute in minutes[::step]:
        values = ledger.latencies[minute]
        half, most = percentile(values, 0.5), percentile(values, 0.99)
        print(f"  minute {minute:3}: {len(values):6} requests, p50 {half:7.1f}, p99 {most:8.1f}")


def _print_slopes(gateway):
    """Prints the slopes of each process, and returns those that are too steep."""
    verdicts, judged = [], 0
    print("\n| process | quantity             |    first |     last |   in 10 minutes | limit |")
    print("|--------:|----------------------|---------:|---------:|----------------:|------:|")
    for generation in gateway.generations:
        found = slopes(generation)
        if found is None:
            seconds = generation.samples[-1]["at"] - generation.samples[0]["at"] if generation.samples else 0
            print(f"| {generation.number:7} | lived for {seconds:.0f} s, too short for slopes |")
            continue
        judged += 1
        for it in found:
            mark = " exceeded" if it.is_exceeded else ""
            values = f"{it.first:8.2f} | {it.last:8.2f} | {it.per_ten_minutes:+7.2f} ± {it.error:5.2f} | {it.limit:5.1f}"
            print(f"| {generation.number:7} | {it.quantity:20} | {values} |{mark}")
            if it.is_exceeded:
                verdicts.append(f"{it.quantity} of process {generation.number} grows by {it.per_ten_minutes:.2f} in 10 minutes")
    if not judged:
        print("no process lived for long enough to be judged by its slopes")
    return verdicts


def _write_samples(run):
    def window(it):
        return {"cause": it.cause, "begin": it.begin - run.started, "end": (it.end or it.begin) - run.started}

    content = {
        "generations": [{"number": it.number, "pid": it.pid, "samples": it.samples} for it in run.gateway.generations],
        "kinds": {kind: vars(counts) for kind, counts in run.ledger.kinds.items()},
        "unexplained": run.ledger.unexplained,
        "windows": [window(it) for it in run.ledger.windows],
    }
    (run.folder / "samples.json").write_text(json.dumps(content, indent=1))
