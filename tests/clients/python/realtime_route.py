"""A route of sessions, and a channel for them at the simulated provider."""

ROUTE = {
    "name": "realtime",
    "match": "GET /v1/realtime",
    "protocol": "realtime",
    "websocket": {"key_in_subprotocol": True},
    "request": ["authenticate", "route_model", "rate_limit"],
    "response": ["meter_usage"],
}


def channel(simulator):
    return {
        "base_url": f"{simulator}/v1",
        "protocols": ["realtime"],
        "credential": {"bearer": "vendor-key"},
        "models": {"voice": "gpt-realtime"},
    }
