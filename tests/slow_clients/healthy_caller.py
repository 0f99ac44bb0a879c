"""A caller whose requests must succeed: the list of models, and chats, whole and streamed, each on a connection of its own."""

import json
import threading
import time
import urllib.request

PAUSE_SECONDS = 0.05
# A reply that takes longer has failed.
TIMEOUT_SECONDS = 20


class HealthyCaller:
    """Sends one request after the other in a thread; has the seconds of each, and what failed."""

    def __init__(self, url, key):
        self.url, self.key = url, key
        self.seconds, self.failures = [], []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def _run(self):
        chat = {"model": "demo-chat", "messages": [{"role": "user", "content": "What is a headgate?"}]}
        requests = [
            ("/v1/models", None, b'"data"'),
            ("/v1/chat/completions", chat, b'"choices"'),
            ("/v1/chat/completions", {**chat, "stream": True}, b"data: [DONE]"),
        ]
        while True:
            for path, body, expected in requests:
                if self._ends.is_set():
                    return
                self._request(path, body, expected)
                self._ends.wait(PAUSE_SECONDS)

    def _request(self, path, body, expected):
        began = time.monotonic()
        try:
            reply = send(self.url + path, self.key, body)
        except OSError as error:
            self.failures.append(f"{path}: {error}")
            return
        self.seconds.append(time.monotonic() - began)
        if expected not in reply:
            self.failures.append(f"{path}: {reply[:200]!r}")


def create_video(url, key, size):
    """Creates a video of this many bytes, which is ready at once; returns its id."""
    body = {"model": "demo-video-a", "prompt": "A gate opens."}
    created = json.loads(send(f"{url}/v1/videos", key, body, {"x-simulate": f"queue=0s;run=0s;body_bytes={size}"}))
    return created["id"]


def send(url, key, body=None, headers=None):
    """The body of the reply to a GET, or to a POST of `body`. An error status raises an OSError."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json", **(headers or {})}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as reply:
        return reply.read()
