"""A receiver of deliveries on this machine, and the secrets of the demo's caller."""

import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

# The secrets of the demo's caller: two, as while a caller changes over.
NEW_SECRET = "whsec_aGVhZGdhdGUtZGVtby13ZWJob29rLXNlY3JldC0y"
OLD_SECRET = "whsec_aGVhZGdhdGUtZGVtby13ZWJob29rLXNlY3JldC0x"
OTHER_SECRET = "whsec_aGVhZGdhdGUtZGVtby13ZWJob29rLXNlY3JldC0z"


class Receiver(HTTPServer):
    """A receiver, and the deliveries that it got: headers by lower-case names, and the body."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Delivery)
        self.deliveries = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"

    def wait_for(self, count):
        deadline = time.monotonic() + 15
        while len(self.deliveries) < count:
            if time.monotonic() > deadline:
                raise AssertionError(f"never came: {count} deliveries")
            time.sleep(0.05)
        self.shutdown()
        return self.deliveries[:count]


class _Delivery(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.deliveries.append((headers, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *line):
        pass
