"""Runs a gateway whose routes translate, with a strict provider of each protocol, and a route of sessions, until SIGTERM:
`translation_gateway.py PROGRAM FOLDER SIMULATOR_URL`. The provider of the model `of-PROTOCOL` speaks only that protocol; of Gemini
and Converse, it is the simulated one, and the strict one has the model `of-strict-PROTOCOL`.

Writes its address to FOLDER/url, and that of the provider to FOLDER/provider.
"""

import sys
import threading
from pathlib import Path

import realtime_route
import strict_vendors
from gateway_process import serve

PROTOCOLS = {"chat": "POST /v1/chat/completions", "messages": "POST /v1/messages", "responses": "POST /v1/responses"}
# Protocol, path, channel model, credential.
VENDORS = {
    "gemini": ("/v1beta", "gemini-3-flash-preview", {"header": {"name": "x-goog-api-key", "value": "vendor-key"}}),
    "converse": ("", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", {"bearer": "vendor-key"}),
}


def vendor_channel(protocol, provider, prefix="of"):
    path, model, credential = VENDORS[protocol]
    return {
        "base_url": f"{provider}{path}",
        "protocols": [protocol],
        "credential": credential,
        "models": {f"{prefix}-{protocol}": model},
        # Cases with faults leave the channel to others.
        "health": {"consecutive_failures": 0},
    }


def routes(provider, simulator, listen="127.0.0.1:0", **route):
    def channel(protocol):
        return {
            "base_url": f"{provider}/v1",
            "protocols": [protocol],
            "credential": {"api_key" if protocol == "messages" else "bearer": "provider-key"},
            "models": {f"of-{protocol}": f"strict-{protocol}"},
        }

    def translated(protocol, match):
        return {
            "name": protocol,
            "match": match,
            "protocol": protocol,
            "translate": [other for other in (*PROTOCOLS, *VENDORS) if other != protocol],
            "request": ["authenticate", "route_model", "validate"],
            "response": ["pass_sse", "meter_usage", "restore_model"],
            **({"websocket": {}} if protocol == "responses" else {}),
            **route,
        }

    return {
        "server": {"listen": listen, "admin": "127.0.0.1:0"},
        "task_keys": ["0123456789abcdef0123456789abcdef"],
        "callers": [
            {
                "name": "demo",
                "key_sha256": "f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7",
                "models": ["*"],
            }
        ],
        "channels": {
            **{protocol: channel(protocol) for protocol in PROTOCOLS},
            **{protocol: vendor_channel(protocol, simulator) for protocol in VENDORS},
            "realtime": realtime_route.channel(simulator),
            **{f"strict-{protocol}": vendor_channel(protocol, provider, "of-strict") for protocol in VENDORS},
        },
        "routes": [*(translated(*row) for row in PROTOCOLS.items()), realtime_route.ROUTE],
    }


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    server = strict_vendors.serve()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    provider = f"http://127.0.0.1:{server.server_address[1]}"
    (folder / "provider").write_text(provider)
    serve(sys.argv[1], folder, routes(provider, sys.argv[3]), "http")
