"""Runs a gateway of its own until SIGTERM."""

import json
import os
import signal
import subprocess
import sys


def serve(program, folder, routes, scheme):
    """Runs `program` with these routes, and writes its address to FOLDER/url."""
    (folder / "routes.yaml").write_text(json.dumps(routes))
    gateway = subprocess.Popen(
        [program, "run", "--config", str(folder / "routes.yaml")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The shell ends this process with SIGTERM; the gateway must end with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        for line in gateway.stderr:
            if address := listening_at(line):
                (folder / "url.part").write_text(f"{scheme}://{address}")
                os.rename(folder / "url.part", folder / "url")
    finally:
        gateway.terminate()


def listening_at(line):
    try:
        said = json.loads(line)
    except ValueError:
        return None
    fields = said.get("fields", said)
    return fields.get("listen") if "headgate is listening" in line else None
