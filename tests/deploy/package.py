"""Makes the Debian package with deploy/package.sh, and installs it in a copy of this machine's root."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from gateway import free_port

ROOT = Path(__file__).parents[2]
# The key is sk-demo.
DIGEST = "f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7"


@unittest.skipUnless(sys.platform == "linux" and os.geteuid() == 0, "only root may install a package")
class PackageTest(unittest.TestCase):
    def test_the_package_is_installed_upgraded_under_load_removed_and_purged(self):
        program = os.environ["HEADGATE_PROGRAM"]
        port, admin, provider = free_port(), free_port(), free_port()
        with tempfile.TemporaryDirectory() as folder:
            old, new = (made_package(program, folder, version) for version in ("0.1.0-1", "0.1.0-2"))
            config = Path(folder, "routes.yaml")
            config.write_text(json.dumps(configuration(port, admin, provider)))
            disposable = Path(folder, "disposable")
            disposable.mkdir()
            simulator = subprocess.Popen(
                [program, "simulate", "--listen", f"127.0.0.1:{provider}"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            try:
                script = ROOT / "tests/deploy/package.sh"
                command = ["unshare", "--mount", script, disposable, old, new, str(port), config]
                ended = subprocess.run(command, capture_output=True, text=True, check=False)
            finally:
                simulator.kill()
                simulator.wait()
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr[-3000:])
        print(f"package: upgraded under load: {ended.stdout.strip()}")
        answered, failed = (int(part.split()[0]) for part in ended.stdout.split(", "))
        self.assertGreater(answered, 10)
        self.assertEqual(failed, 0)


def made_package(program, folder, version):
    """The path of a package of this version with the built program."""
    path = Path(folder, f"{version}.deb")
    command = ["deploy/package.sh", program, version, path, "-Zgzip", "-z1"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return path


def configuration(port, admin, provider):
    steps = ["require_json", "authenticate", {"limit_body": "1MiB"}, "route_model", "validate", "rate_limit"]
    return {
        "server": {"listen": f"127.0.0.1:{port}", "admin": f"127.0.0.1:{admin}"},
        "callers": [{"name": "app", "key_sha256": DIGEST, "models": ["*"]}],
        "channels": {
            "provider": {
                "base_url": f"http://127.0.0.1:{provider}/v1",
                "credential": {"bearer": "sk-provider-key"},
                "protocols": ["chat"],
                "models": {"m": "provider-m"},
            }
        },
        "routes": [{"name": "chat", "match": "POST /v1/chat/completions", "protocol": "chat",
                    "request": steps, "response": ["pass_sse", "meter_usage"]}],
    }
