"""Reads the entry for the public benchmark as its harness does, and runs the gateway with it before a simulated provider."""

import json
import os
import re
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import yaml

from gateway import WAIT_SECONDS, free_port

ROOT = Path(__file__).parents[2]
ENTRY = ROOT / "deploy/benchmark/headgate"
MANIFEST = json.loads((ENTRY / "definition.json").read_text())
# The harness's names of protocols, in the order of rows and columns of `matrix`, with those of Headgate.
DIALECTS = {
    "openai": "chat", "openai-responses": "responses", "anthropic": "messages",
    "gemini": "gemini", "cohere": None, "bedrock": "converse",
}
# What the manifest must name, and names by which the harness would find another process than the gateway's.
REQUIRED = {"name", "display", "lang", "class", "repo", "port", "path", "model", "auth", "runtime"}
TOO_GENERAL = {"gateway", "server", "proxy", "main", "app", "run", "start"}
REASONS = {"boot", "upstream", "ingress", "bind"}
PLACEHOLDERS = {"MOCK_PORT", "GW_PORT", "GW_MODEL", "GW_AUTH", "GW_DIR", "CORES", "NCORE"}
# The requests with which the harness finds out what a gateway serves.
CHAT = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 16}
BODIES = {
    "openai": lambda model: ("/v1/chat/completions", {"model": model, **CHAT}),
    "openai-responses": lambda model: ("/v1/responses", {"model": model, "input": "hello"}),
    "anthropic": lambda model: ("/v1/messages", {"model": model, **CHAT}),
    "gemini": lambda model: (f"/v1beta/models/{model}:generateContent", {"contents": [{"parts": [{"text": "hello"}]}]}),
    "cohere": lambda model: ("/v2/chat", {"model": model, **CHAT}),
    "bedrock": lambda model: (f"/model/{model}/converse", {"messages": [{"role": "user", "content": [{"text": "hello"}]}]}),
}
# A member of each form of a response, by which the harness tells it from others.
MEMBERS = {"openai": "choices", "openai-responses": "output", "anthropic": "content"}


class BenchmarkEntryTest(unittest.TestCase):
    def test_the_manifest_has_what_the_harness_demands(self):
        self.assertLessEqual(REQUIRED, set(MANIFEST))
        self.assertEqual(MANIFEST["name"], ENTRY.name)
        for name in REQUIRED - {"port", "runtime"}:
            self.assertTrue(MANIFEST[name].strip() and "$" not in MANIFEST[name], name)
        self.assertEqual([len(row) for row in MANIFEST["matrix"]], [len(DIALECTS)] * len(DIALECTS))
        self.assertLessEqual(set("".join(MANIFEST["matrix"])), {"0", "1"})
        served = {column for column, cells in zip(DIALECTS, zip(*MANIFEST["matrix"])) if "1" in cells}
        self.assertEqual(set(MANIFEST["egress"]), served)
        self.assertEqual(set(MANIFEST["egress_models"]), served)

    def test_the_process_that_is_measured_is_the_one_that_is_built(self):
        launch, runtime = MANIFEST["launch"], MANIFEST["runtime"]
        self.assertEqual((launch["kind"], runtime["kind"]), ("native", "native"))
        (program,) = launch["binary"]
        match = runtime["proc_match"]
        self.assertIn(match, program)
        self.assertGreaterEqual(len(match), 8)
        self.assertNotIn(match, TOO_GENERAL)
        self.assertTrue(os.access(ENTRY / launch["build"], os.X_OK))
        script = (ENTRY / launch["build"]).read_text()
        profile = re.search(r"cargo build --profile (\w+)", script)[1]
        self.assertEqual(program, f"src/target/{profile}/headgate")
        self.assertRegex(script, r"HEADGATE_COMMIT:-[0-9a-f]{40}\}")
        subprocess.run(["bash", "-n", ENTRY / launch["build"]], check=True)

    def test_each_key_of_the_configuration_has_its_reason(self):
        lines = [line.split("#")[0].split() for line in (ENTRY / "why").read_text().splitlines()]
        reasons = {words[0]: words[1] for words in lines if words}
        self.assertLessEqual(set(reasons.values()), REASONS)
        keys = {key for key in keys_below(rendered(1, 1)) if not any(covers(claim, key) for claim in reasons)}
        # The exception that the file explains.
        self.assertEqual(keys, {"limits", "requests_per_minute", "tokens_per_minute"})
        unused = {claim for claim in reasons if not any(covers(claim, key) for key in keys_below(rendered(1, 1)))}
        self.assertEqual(unused, set())

    def test_routes_run_the_chain_of_the_package(self):
        packaged = yaml.safe_load((ROOT / "deploy/debian/routes.yaml").read_text())["routes"][0]
        for route in rendered(1, 1)["routes"]:
            self.assertEqual((route["request"], route["response"]), (packaged["request"], packaged["response"]))

    def test_every_pairing_of_the_matrix_is_served_as_declared(self):
        with Pair() as pair:
            for row, caller in zip(MANIFEST["matrix"], DIALECTS):
                for cell, upstream in zip(row, DIALECTS):
                    with self.subTest(caller=caller, upstream=upstream):
                        status, headers, body = pair.send(caller, upstream)
                        if caller not in MEMBERS:
                            self.assertEqual((cell, status), ("0", 404))
                            continue
                        # Without a model of its own, the column is asked for by the default one, which is not this upstream.
                        expected = DIALECTS[upstream if cell == "1" else "openai"]
                        self.assertEqual(status, 200, body)
                        self.assertTrue(json.loads(body)[MEMBERS[caller]])
                        translation = headers.get("x-headgate-translation", DIALECTS[caller]).split(";")[0]
                        self.assertEqual(translation.split("->")[-1], expected)


class Pair:
    """The gateway, launched as the manifest says, and a simulated provider in place of the harness's; both run while the
    context is entered."""

    def __enter__(self):
        program = os.environ["HEADGATE_PROGRAM"]
        self._folder = tempfile.TemporaryDirectory()
        self._port, provider = free_port(), free_port()
        template = MANIFEST["config_files"][0]
        values = {"GW_DIR": self._folder.name, "GW_PORT": str(self._port), "MOCK_PORT": str(provider)}
        Path(self._folder.name, template["output"]).write_text(substitute((ENTRY / template["template"]).read_text(), values))
        arguments = [substitute(argument, values) for argument in MANIFEST["launch"]["args"]]
        self._log = open(Path(self._folder.name, "log"), "w+")
        self._processes = [
            self._start(program, "simulate", "--listen", f"127.0.0.1:{provider}"),
            self._start(program, *arguments, "--admin", "127.0.0.1:0"),
        ]
        try:
            for process, port in zip(self._processes, (provider, self._port)):
                self._await(process, port)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self._processes:
            process.kill()
            process.wait()
        self._log.close()
        self._folder.cleanup()

    def send(self, caller, upstream):
        """Sends the harness's request; returns status, headers and body."""
        path, body = BODIES[caller](MANIFEST["egress_models"].get(upstream, MANIFEST["model"]))
        headers = {"content-type": "application/json", **credential(caller)}
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{path}", json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
                return response.status, response.headers, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def _start(self, *command):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, cwd=self._folder.name)

    def _await(self, process, port):
        end = time.monotonic() + WAIT_SECONDS
        while not is_open(port):
            if process.poll() is not None or time.monotonic() > end:
                self._log.seek(0)
                raise AssertionError(self._log.read()[-2000:])
            time.sleep(0.05)


def is_open(port):
    """Whether a process of this machine listens on the port; the harness takes this for ready, too."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def credential(caller):
    """The headers by which callers of a protocol authenticate."""
    key = MANIFEST["auth"]
    if caller == "anthropic":
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}
    return {"x-goog-api-key": key} if caller == "gemini" else {"authorization": f"Bearer {key}"}


def substitute(text, values):
    """The text with the values in place of the harness's placeholders; `{{` and `}}` are braces."""
    def value(found):
        if found[0] in ("{{", "}}"):
            return found[0][0]
        assert found[1] in PLACEHOLDERS, f"the harness has no value for {found[0]}"
        return values[found[1]]

    return re.sub(r"\{\{|\}\}|\{(\w+)\}", value, text)


def rendered(port, provider):
    """The configuration for these ports."""
    text = (ENTRY / MANIFEST["config_files"][0]["template"]).read_text()
    return yaml.safe_load(substitute(text, {"GW_PORT": str(port), "MOCK_PORT": str(provider)}))


def keys_below(value):
    """All keys of maps in the value."""
    if isinstance(value, dict):
        return set(value).union(*map(keys_below, value.values()))
    return set().union(*map(keys_below, value)) if isinstance(value, list) else set()


def covers(claim, key):
    """Whether a line of the file `why` is about the key; a `*` at the end stands for the rest of a name."""
    return key.startswith(claim[:-1]) if claim.endswith("*") else key == claim
