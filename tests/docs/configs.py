"""Blocks in YAML: whole files and sections of routes.yaml, parts of a route, and lists of filters.

A section takes the place of the same one in the first file of README.md. A part of a route, or of its chain, takes its
place in the file of the filter's page, tests/fixtures/filters/NAME.yaml.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import yaml

from blocks import ROOT, blocks_of

FIXTURES = ROOT / "tests/fixtures/filters"
KEYS_OF_ROUTES = {"name", "match", "protocol", "request", "response", "timeouts", "failover"}
SECTIONS = set(json.loads((ROOT / "schemas/routes.schema.json").read_text())["properties"])
# The chain in which a list of filters stands that the page's file does not have.
BEFORE = ["require_json", "authenticate"]
AFTER = ["route_model", "validate"]


class Unfit(Exception):
    """A block that is neither a file, a section, a part of a route nor a list of filters."""


def check(program, block, folder):
    """Checks a block with `headgate check`; returns what it is."""
    value = yaml.safe_load(block.text)
    kind, config = merged(block, value)
    prepare(folder)
    file = folder / "routes.yaml"
    file.write_text(json.dumps(config))
    run_check(program, file, block.text + json.dumps(config))
    return kind


def check_condition(program, block, folder):
    """Checks an expression as the condition of a filter."""
    config = first_file()
    step = {"if": block.text.strip(), "set_headers": {"x-docs": "yes"}}
    config["routes"][0]["request"].append(step)
    prepare(folder)
    (folder / "routes.yaml").write_text(json.dumps(config))
    run_check(program, folder / "routes.yaml", json.dumps(config))


def run_check(program, file, text):
    """Raises what `headgate check` prints if it fails."""
    environment = {**os.environ, **variables(text)}
    command = [program, "check", file.name]
    ended = subprocess.run(command, cwd=file.parent, env=environment, capture_output=True, text=True, timeout=60)
    if ended.returncode != 0:
        raise Unfit(ended.stderr.strip() or ended.stdout.strip())


def merged(block, value):
    """What a block is, and the whole file that it is checked in."""
    if isinstance(value, dict) and set(value) <= SECTIONS:
        base = {} if {"channels", "routes"} <= set(value) else first_file()
        if block.page.startswith("docs/filters/") and base:
            base = fixture(block.page) or base
        return ("file" if not base else "section"), {**base, **value}
    if isinstance(value, dict) and set(value) <= KEYS_OF_ROUTES:
        config = fixture(block.page) or first_file()
        index = nearest_route(config["routes"], value)
        config["routes"][index] = {**config["routes"][index], **value}
        return "part of a route", config
    if isinstance(value, list):
        config = fixture(block.page) or first_file()
        if not contains(config, value):
            route = config["routes"][0]
            rest = [step for step in AFTER if step not in value]
            route["request"] = [*BEFORE, *value, *rest]
        return "list of filters", config
    raise Unfit("is neither a file, a section, a part of a route nor a list of filters; see tests/docs/configs.py")


def first_file():
    """The first routes.yaml of the README."""
    return yaml.safe_load(next(block for block in blocks_of("README.md") if block.language == "yaml").text)


def fixture(page):
    """The file of a filter's page."""
    file = FIXTURES / f"{Path(page).stem}.yaml"
    is_filter = page.startswith("docs/filters/") and file.exists()
    return yaml.safe_load(file.read_text()) if is_filter else None


def nearest_route(routes, part):
    """The index of the route that has most members of the part."""
    equal = [sum(route.get(key) == value for key, value in part.items()) for route in routes]
    return equal.index(max(equal))


def contains(value, steps):
    """Whether a list below the value has these steps one after the other."""
    if isinstance(value, dict):
        return any(contains(item, steps) for item in value.values())
    if not isinstance(value, list):
        return False
    starts = range(len(value) - len(steps) + 1)
    return any(value[at : at + len(steps)] == steps for at in starts) or any(contains(item, steps) for item in value)


def variables(text):
    """Values for the variables of a file that have no default."""
    values = {}
    for name in re.findall(r"\$\{([A-Z0-9_]+)\}", text):
        if name.endswith("SHA256"):
            values[name] = "0" * 63 + "1"
        elif name.endswith("TASK_KEY"):
            values[name] = hashlib.sha256(name.encode()).hexdigest()
        elif name.endswith("WEBHOOK_SECRET"):
            values[name] = "whsec_" + base64.b64encode(hashlib.sha256(name.encode()).digest()).decode()
        else:
            values[name] = f"sk-docs-{name.lower().replace('_', '-')}-of-more-than-32-letters"
    return values


def prepare(folder):
    """Writes the files that examples name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "second.key").write_text("sk-docs-second")
    if not (folder / "plugins").exists():
        shutil.copytree(FIXTURES / "plugins", folder / "plugins")
        shutil.copy(FIXTURES / "plugins/redact.wasm", folder / "plugins/my-plugin.wasm")
    if not (folder / "admin.pem").exists():
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=headgate.internal"
        command += " -keyout admin.key -out admin.pem"
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
