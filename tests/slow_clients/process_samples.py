"""Memory and descriptors of a process, several times in a second."""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PAUSE_SECONDS = 0.2


@dataclass(frozen=True)
class ProcessSample:
    # Resident bytes without the pages of files.
    memory: int
    descriptors: int


class ProcessSamples:
    """Samples of a process while the block runs."""

    def __init__(self, pid):
        self.pid = pid
        self.last = self.peak = take_sample(pid)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def until_descriptors(self, count, seconds):
        """Waits until there are at most `count` descriptors, or for so many seconds; returns the last sample."""
        deadline = time.monotonic() + seconds
        while self.last.descriptors > count and time.monotonic() < deadline:
            time.sleep(PAUSE_SECONDS)
        return self.last

    def _run(self):
        while not self._ends.wait(PAUSE_SECONDS):
            try:
                self.last = take_sample(self.pid)
            except OSError:
                return
            self.peak = ProcessSample(
                max(self.peak.memory, self.last.memory), max(self.peak.descriptors, self.last.descriptors)
            )


def take_sample(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kilobytes = sum(int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:")))
    return ProcessSample(kilobytes * 1024, len(os.listdir(f"/proc/{pid}/fd")))
