"""A gateway with the shipped routes.yaml, and a simulated provider in a process of its own, so that memory is the gateway's."""

import os
import socket
import subprocess
import time
from pathlib import Path

KEY = "sk-demo"
ROUTES = Path(__file__).parents[2] / "routes.yaml"
EXIT_SECONDS_MAX = 20


class SlowTestGateway:
    """Runs while the block runs, on free ports."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        gateway, admin, provider = free_ports(3)
        self.url = f"http://127.0.0.1:{gateway}"
        simulated = f"http://127.0.0.1:{provider}"
        self.environment = {
            **os.environ,
            "HEADGATE_LISTEN": f"127.0.0.1:{gateway}",
            "HEADGATE_ADMIN": f"127.0.0.1:{admin}",
            "HEADGATE_STATE": "memory",
            "HEADGATE_TASK_KEY": subprocess.check_output([program, "key", "task"], text=True, stderr=subprocess.DEVNULL).strip(),
            "HEADGATE_EGRESS_ALLOW": "127.0.0.1",
            **{f"{name}_URL": f"{simulated}/v1" for name in ("PRIMARY", "SECOND", "MESSAGES", "IMAGES")},
            "VIDEO_A_URL": f"{simulated}/api/v3",
            "VIDEO_B_URL": f"{simulated}/api/v1",
        }
        self.provider_port, self.port = provider, gateway

    def __enter__(self):
        self.provider = self._start("simulate", "--listen", f"127.0.0.1:{self.provider_port}", "--no-record", "--workers", "2")
        self.process = self._start("run", str(ROUTES))
        try:
            for port in (self.provider_port, self.port):
                self._await(port)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in (self.process, self.provider):
            process.terminate()
            try:
                process.wait(EXIT_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def log(self):
        """What the gateway has logged."""
        return (self.folder / "run.log").read_text(errors="replace")

    def _start(self, command, *arguments):
        # The access log is of no use here, and long.
        with open(self.folder / f"{command}.log", "wb") as log:
            return subprocess.Popen(
                [self.program, command, *arguments],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    def _await(self, port):
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError as error:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise SystemExit(f"nothing listens on port {port}:\n{self.log()}") from error
            time.sleep(0.05)


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports
