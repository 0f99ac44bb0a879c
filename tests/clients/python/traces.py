"""Tests of tracing: a caller with the OpenTelemetry SDK, and a collector with the classes generated for OTLP."""

import contextlib
import http.server
import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import httpx
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from demo import KEY, LARGE, QUESTION, SIMULATOR_URL
from runner import Wrong, cases, contains, equal, holds

# Set by the test command if it has a program to start; the demo itself has no tracing.
PROGRAM = os.environ.get("HEADGATE_PROGRAM")
PATIENCE = 20.0
BODY = {"model": LARGE, "messages": [{"role": "user", "content": QUESTION}]}


class Collector(http.server.ThreadingHTTPServer):
    """Keeps what it receives, parsed."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), CollectorRequest)
        self.exports = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def spans(self, count):
        """The spans so far, with the attributes of their resource, once there are as many."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            spans = [
                (span, attributes(group.resource.attributes))
                for export in list(self.exports)
                for group in export.resource_spans
                for scope in group.scope_spans
                for span in scope.spans
            ]
            if len(spans) >= count:
                return spans
            time.sleep(0.05)
        raise Wrong(f"the collector has {len(spans)} spans, not {count}")


class CollectorRequest(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/v1/traces" and self.headers["content-type"] == "application/x-protobuf":
            self.server.exports.append(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def attributes(pairs):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


@contextlib.contextmanager
def gateway(collector):
    """The base URL of a gateway that exports to `collector`."""
    routes = {
        "server": {"listen": "127.0.0.1:0", "admin": "127.0.0.1:0"},
        "state": "memory",
        "tracing": {"endpoint": f"http://127.0.0.1:{collector.server_port}", "sampling": {"ratio": 0}},
        "callers": [
            {
                "name": "demo",
                "key_sha256": "f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7",
                "models": ["*"],
            }
        ],
        "channels": {
            "primary": {
                "base_url": f"{SIMULATOR_URL}/v1",
                "credential": {"bearer": "sk-simulated"},
                "protocols": ["chat"],
                "models": {LARGE: "sim-large-2026-08"},
            }
        },
        "routes": [
            {
                "name": "chat",
                "match": "POST /v1/chat/completions",
                "protocol": "chat",
                "request": ["authenticate", "route_model"],
                "response": ["pass_sse", "meter_usage"],
            }
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "routes.yaml"
        file.write_text(json.dumps(routes))
        command = [PROGRAM, "run", "--config", str(file)]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            for line in process.stderr:
                if "headgate is listening" in line:
                    yield f"http://{json.loads(line)['listen']}"
                    break
        finally:
            process.terminate()
            process.wait(PATIENCE)


def the_trace_of_an_instrumented_client_continues_to_the_provider(is_stream):
    collector = Collector()
    exporter = InMemorySpanExporter()
    tracer = TracerProvider()
    tracer.add_span_processor(SimpleSpanProcessor(exporter))
    with gateway(collector) as url, httpx.Client(timeout=PATIENCE) as client:
        HTTPXClientInstrumentor.instrument_client(client, tracer_provider=tracer)
        answer = client.post(
            f"{url}/v1/chat/completions",
            headers={"authorization": f"Bearer {KEY}"},
            json={**BODY, "stream": is_stream},
        )
        equal("the status", answer.status_code, 200)
        spans = collector.spans(2)
    (caller,) = exporter.get_finished_spans()
    equal("the number of spans", len(spans), 2)
    (server, resource), (attempt, _) = sorted(spans, key=lambda pair: pair[0].kind)
    context = caller.get_span_context()
    for span in (server, attempt):
        equal("the trace", int.from_bytes(span.trace_id, "big"), context.trace_id)
    equal("the parent of the server", int.from_bytes(server.parent_span_id, "big"), context.span_id)
    equal("the parent of the attempt", attempt.parent_span_id, server.span_id)
    equal("the kinds", (server.kind, attempt.kind), (Span.SPAN_KIND_SERVER, Span.SPAN_KIND_CLIENT))
    equal("the name of the server", server.name, "POST /v1/chat/completions")
    equal("the name of the attempt", attempt.name, "chat sim-large-2026-08")
    equal("the service", resource["service.name"], "headgate")
    found = attributes(server.attributes)
    equal("the request's id", found["headgate.request_id"], answer.headers["x-request-id"])
    equal("the status of the span", found["http.response.status_code"], 200)
    equal("the stream", found["headgate.streamed"], is_stream)
    equal("the outcome", attributes(attempt.attributes)["headgate.outcome"], "success")
    holds("the order of times", server.start_time_unix_nano <= attempt.start_time_unix_nano)
    holds("the order of ends", attempt.end_time_unix_nano <= server.end_time_unix_nano)
    # The caller's clock is that of the gateway.
    holds("the start within the caller's span", caller.start_time <= server.start_time_unix_nano)
    contains("the model", found["gen_ai.request.model"], LARGE)


if PROGRAM:
    cases(json=(False,), stream=(True,))(
        the_trace_of_an_instrumented_client_continues_to_the_provider
    )
