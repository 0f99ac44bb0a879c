"""Blocks of commands and programs, run against a demo or against the gateway that a page starts."""

import json
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

from blocks import ROOT
from configs import first_file, variables

CLIENTS = ROOT / ".clients"
SHOWN = {"gateway": "127.0.0.1:8080", "admin": "127.0.0.1:9091", "simulator": "127.0.0.1:9092", "second": "127.0.0.1:9093"}
PATIENCE = 60
# What a server logs when it accepts connections, and which of its fields are which address.
LISTENING = {
    "headgate is listening": {"listen": "gateway", "admin": "admin"},
    "simulated provider is listening": {"listen": "simulator"},
}
PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")


class Failed(Exception):
    """A command with another exit code than the page has, or a server that did not start."""


class Demo:
    """A demo on free ports, for the pages that start no gateway of their own."""

    def __init__(self, program, folder):
        log = folder / "demo.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
        free = "127.0.0.1:0"
        # A page reads the same file, as an operator beside the gateway does.
        self.state = f"sqlite:{folder}/state.sqlite"
        command = [program, "demo", "--listen", free, "--admin", free, "--simulator", free]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env={**environment, "HEADGATE_STATE": self.state}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log.open("w")
        )
        pattern = r"^headgate demo: gateway http://([^,]*), admin http://([^,]*), simulated provider http://([^,\n]*)$"
        found = until(lambda: re.search(pattern, log.read_text(), re.MULTILINE), self.process, log)
        self.addresses = dict(zip(SHOWN, found.groups()))

    def end(self):
        stop(self.process)


class PageShell:
    """Runs the blocks of one page, in a folder and with exported variables of its own."""

    def __init__(self, program, demo, folder):
        self.program, self.folder = program, folder
        self.addresses = {**demo.addresses, "second": free_address()}
        self.servers = []
        folder.mkdir(parents=True)
        for name in ("routes.yaml", "schemas"):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
        shutil.copytree(ROOT / "docs/cookbook", folder / "docs/cookbook")
        self.environment = {name: value for name, value in os.environ.items() if name not in PROXIES}
        tools = [str(Path(program).parent), str(CLIENTS / "python/bin"), str(CLIENTS / "node/node_modules/.bin")]
        self.environment.update(
            PATH=os.pathsep.join([*tools, os.environ["PATH"]]),
            HEADGATE_LISTEN=self.addresses["gateway"],
            HEADGATE_ADMIN=self.addresses["admin"],
            HEADGATE_STATE=demo.state,
            HEADGATE_TASK_KEY="ab" * 32,
            STATE=str(folder / ".exported"),
            PYTHONDONTWRITEBYTECODE="1",
        )

    def use_first_file(self):
        """Works with the first file of the README, as its reader does."""
        text = json.dumps(first_file())
        (self.folder / "routes.yaml").write_text(text)
        self.environment.update(variables(text))

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.real(text))

    def run(self, text, codes):
        """Runs commands: all of them as one script, or each line with its own exit code."""
        scripts = [text] if len(codes) == 1 else [line for line in text.splitlines() if line.strip()]
        if len(scripts) != len(codes):
            raise Failed(f"{len(scripts)} commands and {len(codes)} exit codes")
        for script, code in zip(scripts, codes):
            prologue = '[ ! -f "$STATE" ] || . "$STATE"\ntrap \'export -p >"$STATE"\' EXIT\nset -euo pipefail\n'
            self.execute(["bash", "-c", prologue + self.real(script)], code)

    def run_python(self, text):
        self.execute([str(CLIENTS / "python/bin/python"), "-c", self.real(text)], 0)

    def run_javascript(self, text):
        file = CLIENTS / "js" / f"documented-{os.getpid()}.mjs"
        file.write_text(self.real(text))
        try:
            self.execute(["node", str(file)], 0)
        finally:
            file.unlink()

    def start(self, text):
        """Starts the server of a block on free ports; the blocks below use its addresses."""
        line = self.real(text).split(" #")[0].strip()
        options = "" if "--listen" in line else " --listen 127.0.0.1:0"
        options += " --admin 127.0.0.1:0" if line.startswith("headgate run") else ""
        log = self.folder / f"server-{len(self.servers)}.log"
        script = f'[ ! -f "$STATE" ] || . "$STATE"\nexec {line}{options}'
        server = subprocess.Popen(
            ["bash", "-c", script], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log.open("w"),
        )
        self.servers.append(server)
        entry = until(lambda: listening(log), server, log)
        names = {} if "--listen" in line else LISTENING[entry["message"]]
        self.addresses.update({name: entry[field] for field, name in names.items()})

    def execute(self, command, code):
        ended = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE,
        )
        if ended.returncode != code:
            printed = (ended.stdout[-600:] + ended.stderr[-900:]).strip()
            raise Failed(f"exit code {ended.returncode}, not {code}: {printed}")

    def real(self, text):
        for name, shown in SHOWN.items():
            text = text.replace(shown, self.addresses[name])
        return text

    def end(self):
        for server in self.servers:
            stop(server)


def free_address():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return "127.0.0.1:%d" % listener.getsockname()[1]


def listening(log):
    for line in log.read_text().splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("message") in LISTENING:
            return {"message": entry["message"], **entry, **entry.get("fields", {})}
    return None


def until(found, process, log):
    for _ in range(PATIENCE * 10):
        result = found()
        if result:
            return result
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise Failed(f"the server did not start: {log.read_text()[-900:]}")


def stop(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
