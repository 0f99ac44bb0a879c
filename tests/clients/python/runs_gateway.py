"""Runs a gateway whose caller may name runs, until SIGTERM: `runs_gateway.py PROGRAM FOLDER SIMULATOR_URL`.

Writes its address to FOLDER/url.
"""

import sys
from pathlib import Path

from gateway_process import serve

BEARER = {"bearer": "sk-simulated-runs"}
MODEL = {"demo-small": "sim-small-2026-08"}


def routes(simulator):
    def channel(protocols):
        return {"base_url": f"{simulator}/v1", "protocols": protocols, "credential": BEARER, "models": MODEL}

    def route(protocol, path):
        return {
            "name": protocol,
            "match": f"POST {path}",
            "protocol": protocol,
            "request": ["authenticate", "route_model", "validate", "rate_limit"],
            "response": ["pass_sse", "meter_usage"],
        }

    return {
        "server": {"listen": "127.0.0.1:0", "admin": "127.0.0.1:0"},
        "callers": [
            {
                "name": "demo",
                "key_sha256": "f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7",
                "models": ["*"],
                # Caps that the headers of each run tighten.
                "limits": {"runs": {"calls": 10_000, "tokens": 10_000_000, "cost": 100, "time": "1h", "repeats": 10_000}},
            }
        ],
        "channels": {"text": channel(["chat", "responses"]), "other": channel(["messages"])},
        "models": {"demo-small": {"max_output_tokens": 100, "context_window": 8192}},
        "prices": {"models": {"demo-small": {"output": 10}}},
        "routes": [
            route("chat", "/v1/chat/completions"),
            route("responses", "/v1/responses"),
            route("messages", "/v1/messages"),
        ],
    }


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), routes(sys.argv[3].rstrip("/")), "http")
