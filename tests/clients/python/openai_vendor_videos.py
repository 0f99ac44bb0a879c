"""Tests of OpenAI's video API with several vendors, by the first and by the newest SDK that has it."""

import os
import subprocess
import sys
from pathlib import Path

from demo import BASE_URL
from runner import Wrong, cases, equal

# Set by run.sh if it has a program to start; without one there is no gateway with vendors.
URL = os.environ.get("CLIENTS_VENDORS_URL")
OLDEST = os.environ.get("CLIENTS_OLDEST_PYTHONPATH")
SCRIPT = Path(__file__).with_name("vendor_videos.py")

if URL:

    @cases(oldest=("2.2.0", {"PYTHONPATH": OLDEST}), newest=("3.57.0", {}))
    def videos_of_seven_vendors_are_made_downloaded_and_deleted_and_their_end_is_an_event(version, environment):
        run = subprocess.run(
            [sys.executable, "-B", SCRIPT, URL, BASE_URL],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        if run.returncode != 0:
            raise Wrong(run.stderr[-500:])
        equal("version", run.stdout.strip(), version)
