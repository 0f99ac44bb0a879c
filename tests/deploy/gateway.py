"""A gateway whose configuration is mounted as Kubernetes mounts a ConfigMap."""

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import yaml

WAIT_SECONDS = 30


class Gateway:
    """Runs while the context is entered. The file is `routes.yaml -> ..data/routes.yaml`, and `..data` a symbolic link to a
    folder of the version."""

    def __init__(self, config, environment):
        self._folder = tempfile.TemporaryDirectory()
        self._mount = Path(self._folder.name, "config")
        self._mount.mkdir()
        self._versions = 0
        self._ports = [free_port(), free_port()]
        self._environment = environment
        self.replace_as_kubelet_does(config)
        (self._mount / "routes.yaml").symlink_to("..data/routes.yaml")

    def __enter__(self):
        self._log = open(Path(self._folder.name, "log"), "w+")
        command = [os.environ["HEADGATE_PROGRAM"], "run", "--config", self._mount / "routes.yaml"]
        for option, port in zip(("--listen", "--admin"), self._ports):
            command += [option, f"127.0.0.1:{port}"]
        self._process = subprocess.Popen(
            command, env={**os.environ, **self._environment}, stdout=self._log, stderr=self._log, cwd=self._folder.name
        )
        self.eventually(lambda: self._get("/readyz") is not None)
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._log.close()
        self._folder.cleanup()

    def replace_as_kubelet_does(self, config):
        """Writes a new folder, and renames a symbolic link to it over the old one."""
        self._versions += 1
        version = self._mount / f"..version-{self._versions}"
        version.mkdir()
        (version / "routes.yaml").write_text(yaml.safe_dump(config))
        link = self._mount / "..data_tmp"
        link.symlink_to(version.name)
        link.rename(self._mount / "..data")

    def models(self):
        """The names of the models that channels serve."""
        channels = json.loads(self._get("/channels"))
        return json.dumps(channels)

    def eventually(self, condition):
        end = time.monotonic() + WAIT_SECONDS
        while not condition():
            if time.monotonic() > end:
                self._log.seek(0)
                raise AssertionError(self._log.read()[-2000:])
            time.sleep(0.05)

    def _get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._ports[1]}{path}", timeout=5) as response:
                return response.read()
        except OSError:
            return None


def free_port():
    """A port of loopback on which nothing listens yet."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
