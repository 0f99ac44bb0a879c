"""Runs every fenced block of the documentation, and checks its links: `main.py [PAGE…]`; HEADGATE_PROGRAM is the gateway.

| language | what is done |
|---|---|
| yaml | `headgate check`, see configs.py |
| sh, bash | run against a demo, see shell.py; each has to exit with 0 |
| python, js | run with the SDKs of the client suite |
| json | parsed |
| cel | checked as the condition of a filter |
| console | run by tests/suite/configuration/console_examples.rs, which compares the outputs |
| text, http | shown, since there is nothing to run |

A marker above a block, `<!-- block: WORDS, REASON -->`, has one of these words:

| words | meaning |
|---|---|
| `not run` | a block that no test can run; requires a reason |
| `exit 1` | the exit code of the commands; several are those of the lines |
| `file NAME` | the block is this file in the folder of the page; a routes.yaml is checked by the commands below it |
| `starts` | the command is a server, which the blocks below use |
| `other yaml` | YAML of another program, which is parsed only; requires a reason |
"""

import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import yaml

import configs
import links
from blocks import blocks_of, pages
from shell import Demo, PageShell

PROGRAM = os.environ["HEADGATE_PROGRAM"]
# The pages whose console blocks tests/suite runs.
CONSOLE_PAGES = {"README.md", "docs/calling.md", "docs/commands.md"}
# The languages of commands.
SHELL = {"sh", "bash"}


class Treatment(Exception):
    """A block that has no treatment, or a marker without what it needs."""


def main():
    given = sys.argv[1:]
    counts, failures, listed = Counter(), [], []
    with tempfile.TemporaryDirectory(prefix="headgate-docs-") as name:
        folder = Path(name)
        demo = Demo(PROGRAM, prepared(folder / "demo"))
        try:
            for page in given or pages():
                run_page(page, demo, folder, counts, failures, listed)
        finally:
            demo.end()
    for place, language, reason in listed:
        print(f"not run: {place} [{language}] {reason}")
    for treated, count in sorted(counts.items()):
        print(f"{count:5} {treated}")
    for failure in failures:
        print(f"failed: {failure}")
    passed = sum(count for treated, count in counts.items() if not treated.startswith(("not run", "shown")))
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


def run_page(page, demo, folder, counts, failures, listed):
    shell = PageShell(PROGRAM, demo, folder / page.replace("/", "-"))
    if page == "README.md":
        shell.use_first_file()
    try:
        for block in blocks_of(page):
            try:
                treated = run_block(block, shell, folder / "checked" / page.replace("/", "-"))
                counts[treated] += 1
                if treated.startswith("not run"):
                    listed.append((block.place, block.language, block.reason))
            except Exception as error:
                failures.append(f"{block.place} [{block.language}]: {type(error).__name__}: {error}")
    finally:
        shell.end()
    count, broken = links.broken_links(page)
    counts["links within the repository"] += count - len(broken)
    failures.extend(broken)
    if page == links.SUMMARY:
        count, differences = links.differences_of_summary(pages())
        counts["entries of the book"] += count
        failures.extend(differences)


def run_block(block, shell, folder):
    """Runs a block; returns what was done."""
    words = block.marker
    match words[:1]:
        case ["not"] if words == ["not", "run"]:
            if not block.reason:
                raise Treatment("`not run` requires a reason")
            return f"not run, for a reason: {block.language}"
        case ["other"] if words == ["other", "yaml"] and block.language == "yaml":
            if not block.reason:
                raise Treatment("`other yaml` requires a reason")
            yaml.safe_load(block.text)
            return "yaml: of another program, parsed"
        case ["file"] if len(words) == 2:
            shell.write(words[1], block.text)
            return f"{block.language}: a file of the page"
        case ["starts"] if block.language in SHELL:
            shell.start(block.text)
            return "sh: server started"
        case ["exit"] if block.language in SHELL:
            shell.run(block.text, [int(code) for code in words[1:]])
            return "sh: run, with another exit code"
        case []:
            return run_by_language(block, shell, folder)
    raise Treatment(f"unknown marker `{' '.join(words)}`; see tests/docs/main.py")


def run_by_language(block, shell, folder):
    match block.language:
        case "yaml":
            return f"yaml: {configs.check(PROGRAM, block, folder)}, checked"
        case "sh" | "bash":
            shell.run(block.text, [0])
            return "sh: run"
        case "python":
            shell.run_python(block.text)
            return "python: run"
        case "js":
            shell.run_javascript(block.text)
            return "js: run"
        case "json":
            json.loads(block.text)
            return "json: parsed"
        case "cel":
            configs.check_condition(PROGRAM, block, folder)
            return "cel: checked as a condition"
        case "console" if block.page in CONSOLE_PAGES:
            return "console: run by tests/suite"
        case "text" | "http":
            return f"shown, nothing to run: {block.language}"
    raise Treatment(f"no test runs `{block.language}` here; see tests/docs/main.py")


def prepared(folder):
    folder.mkdir(parents=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
