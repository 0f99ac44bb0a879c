"""The configuration of the gateway under soak: the routes that are shipped, and routes for every other protocol."""

import hashlib
import json
from dataclasses import dataclass

ADMIN_KEY = "soak-admin-key-0123456789abcdef"
APP, OTHER, LIMITED, POOR = "sk-soak-app", "sk-soak-other", "sk-soak-limited", "sk-soak-poor"
WEBHOOK_SECRET = "whsec_aGVhZGdhdGUtc29hay13ZWJob29rLXNlY3JldC0x"
APP_BUDGET = 1_000_000
FORMS = ("transcription", "translation", "image_variation")
ENDPOINTS = {
    "embeddings": "/v1/embeddings",
    "completions": "/v1/completions",
    "moderations": "/v1/moderations",
    "rerank": "/v1/rerank",
    "image_generation": "/v1/images/generations",
    "speech": "/v1/audio/speech",
    "transcription": "/v1/audio/transcriptions",
    "translation": "/v1/audio/translations",
    "image_variation": "/v1/images/variations",
}
# Family, path below /vendor, channel model, credential.
VENDORS = [
    ("minimax", "minimax", "MiniMax-Hailuo-02", {"bearer": "vendor-key"}),
    ("runway", "runway", "gen4.5", {"bearer": "vendor-key"}),
    ("luma", "luma/dream-machine/v1", "ray-2", {"bearer": "vendor-key"}),
    ("kling", "kling", "kling-v2-6", {"jwt": {"issuer": "vendor-key", "secret": "vendor-key-secret"}}),
    ("fal", "fal", "fal-ai/veo3.1", {"header": {"name": "authorization", "value": "Key vendor-key"}}),
]
VIDEO_FAMILIES = [family for family, *_ in VENDORS]


@dataclass
class Addresses:
    """Ports on 127.0.0.1."""

    gateway: int
    admin: int
    first: int
    second: int
    hostile: int
    receiver: int
    redis: int


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


def render(shipped, at, state, folder, revision):
    """The file: JSON, which is YAML, for what is the run's own, then `chains` and `routes` of the shipped file, and more routes."""
    top = {
        "server": _server(at),
        "state": state,
        "callers": _callers(),
        "channels": _channels(at, revision),
        "models": _models(),
        "prices": _prices(),
        "media": {"directory": str(folder / "media")},
        "usage": {},
        "families": {"fal": {"callback": _fal_callback(at)}},
        "egress": {"allow": ["127.0.0.1"]},
        "task_keys": ["0123456789abcdef0123456789abcdef"],
        "retries": {"budget_percent": 20, "min_per_second": 20},
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in top.items()]
    shared = shipped[shipped.index("\nchains:") :].rstrip("\n")
    routes = [f"  - {json.dumps(route)}" for route in _routes()]
    return "\n".join([f"# revision {revision}", *lines, shared, *routes, ""])


def _server(at):
    return {
        "listen": f"127.0.0.1:{at.gateway}",
        "admin": f"127.0.0.1:{at.admin}",
        "public_url": f"http://127.0.0.1:{at.gateway}",
        "admin_keys": [{"name": "soak", "key_sha256": digest(ADMIN_KEY), "role": "act"}],
        "workers": 2,
        "limits": {"write_timeout": "4s", "header_timeout": "5s", "drain": "30s", "keep_alive_timeout": "30s"},
        "spool": {"threshold": "1MiB"},
    }


def _callers():
    limits = {"cost_total": APP_BUDGET, "concurrent": 2000, "tokens_per_day": 10**12, "requests_per_minute": 10**6}
    return [
        {"name": "app", "key_sha256": digest(APP), "models": ["*"], "limits": limits, "webhook_secrets": [WEBHOOK_SECRET]},
        {"name": "other", "key_sha256": digest(OTHER), "models": ["*"], "webhook_secrets": [WEBHOOK_SECRET]},
        {"name": "limited", "key_sha256": digest(LIMITED), "models": ["*"], "limits": {"requests_per_minute": 30}},
        {"name": "poor", "key_sha256": digest(POOR), "models": ["*"], "limits": {"cost_total": 0.02}},
    ]


def _channels(at, revision):
    first, second = f"http://127.0.0.1:{at.first}", f"http://127.0.0.1:{at.second}"
    hostile = f"http://127.0.0.1:{at.hostile}"

    def channel(base_url, protocols, models, **more):
        return {"base_url": base_url, "credential": {"bearer": "provider-key"}, "protocols": protocols, "models": models, **more}

    large, small = "sim-large-2026-08", "sim-small-2026-08"
    text = {"demo-chat": large, "demo-small": small}
    google = {"header": {"name": "x-goog-api-key", "value": "provider-key"}}
    quick = {"first_byte": "2s", "idle": "2s"}
    health = {"cool_down_max": "2s", "credential_cool_down": "2s"}
    family_a = {"family": "family-a"}
    channels = {
        # A reload changes a weight.
        "primary": channel(f"{first}/v1", ["chat", "responses", "batches"], text, weight=2 + revision % 2),
        "second": channel(f"{second}/v1", ["chat"], {"demo-chat": large}, timeouts=quick),
        "messages": channel(f"{first}/v1", ["messages", "message_batches"], text),
        "images": channel(f"{first}/v1", ["image_edit"], {"demo-image": "sim-image-2026-06"}),
        "video_a": channel(f"{first}/api/v3", ["video", "family_a"], {"demo-video-a": "sim-video-2-0-260128"}, **family_a),
        "video_b": channel(f"{first}/api/v1", ["video", "family_b"], {"demo-video-b": "sim-video-3-0"}, family="family-b"),
        "endpoints": channel(f"{first}/v1", list(ENDPOINTS), {"demo-endpoints": large, "demo-whisper": "sim-whisper-1"}),
        "ranks": channel(first, ["cohere_rerank"], {"demo-ranks": large}),
        "gemini": channel(f"{first}/v1beta", ["gemini"], {"demo-gemini": "gemini-3-flash-preview"}, credential=google),
        "converse": channel(first, ["converse"], {"demo-converse": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"}),
        "voices": channel(f"{first}/v1", ["realtime"], {"demo-voice": "gpt-realtime"}),
        "only_chat": channel(f"{first}/v1", ["chat"], {"demo-of-chat": large}),
        "only_messages": channel(f"{first}/v1", ["messages"], {"demo-of-messages": large}),
        "hostile": channel(f"{hostile}/v1", ["chat"], {"demo-frail": large}, timeouts=quick, health=health),
        "reserve": channel(f"{first}/v1", ["chat"], {"demo-frail": large}, tier=1),
        "only_hostile": channel(
            f"{hostile}/v1", ["chat"], {"demo-hostile": large}, timeouts=quick, health={"consecutive_failures": 0}
        ),
        # Faults of these models are planted by the request itself.
        "faulty": channel(
            f"{first}/v1",
            ["chat", "messages", "responses", "image_edit"],
            {"demo-faulty": large},
            health={"consecutive_failures": 0},
            # The simulated provider may be slow on a busy machine.
            timeouts={"first_byte": "5s", "idle": "5s"},
        ),
    }
    for family, path, model, credential in VENDORS:
        base_url = f"{first}/~queue=200ms;run=500ms/vendor/{path}"
        channels[family] = channel(base_url, ["video"], {f"of-{family}": model}, family=family, credential=credential)
    return channels


def _fal_callback(at):
    """As the built-in family has it, with the keys of the simulated provider."""
    names = "{x-fal-webhook-request-id}\n{x-fal-webhook-user-id}\n{x-fal-webhook-timestamp}\n{body_sha256}"
    signature = {
        "kind": "ed25519",
        "jwks": f"http://127.0.0.1:{at.first}/vendor/fal/.well-known/jwks.json",
        "header": "x-fal-webhook-signature",
        "timestamp": "x-fal-webhook-timestamp",
        "signed": names,
    }
    return {"signature": signature, "task_id": "/request_id"}


def _models():
    sizes = {"max_output_tokens": 4096, "context_window": 200000}
    priced = {name: dict(sizes) for name in ("demo-chat", "demo-small", "demo-faulty")}
    return {
        **priced,
        "demo-video-a": {"profile": "family_a/2.0"},
        "demo-video-b": {"profile": "family_b/3.0"},
        "demo-of-chat": {"translate": ["chat"]},
        "demo-of-messages": {"translate": ["messages"]},
        "demo-gemini": {"translate": ["gemini"]},
        "demo-converse": {"translate": ["converse"]},
    }


def _prices():
    text = {"input": 2.5, "output": 10}
    return {
        "models": {
            "demo-chat": text,
            "demo-small": text,
            "demo-image": {"image": 0.04},
            "demo-video-a": {"video_second": {"*": 0.1}, "video_default_seconds": 5},
            "*": {"input": 0},
        }
    }


def _routes():
    small = ["require_json", "authenticate", {"limit_body": "4MiB"}, "route_model", "rate_limit"]
    form = ["require_form", "authenticate", {"limit_body": {"body": "26MiB", "file": "25MiB"}}, "route_model", "rate_limit"]
    passed = ["pass_sse", "meter_usage"]

    def route(name, match, request, response, protocol=None):
        return {"name": name, "match": match, "protocol": protocol or name, "request": request, "response": response}

    for protocol, path in ENDPOINTS.items():
        chain = form if protocol in FORMS else small
        if protocol in ("image_generation", "image_variation"):
            chain = [*chain[:-1], "idempotency", "rate_limit"]
        yield route(protocol, f"POST {path}", chain, passed)
    yield route("cohere_rerank", "POST /v2/rerank", small, ["meter_usage"])
    chain = ["require_json", "authenticate", {"limit_body": "32MiB"}, "route_model", "validate", "rate_limit"]
    gemini = [f"POST /v1beta/models/{{model}}:{call}" for call in ("generateContent", "streamGenerateContent", "countTokens")]
    yield route("gemini", gemini, chain, ["pass_sse", "heartbeat", "meter_usage"])
    converse = ["POST /model/{model}/converse", "POST /model/{model}/converse-stream"]
    yield route("converse", converse, chain, passed)
    yield route("realtime", "GET /v1/realtime", ["authenticate", "route_model", "rate_limit"], ["meter_usage"])
    # A body that no filter reads is streamed.
    streamed = ["authenticate", {"limit_body": "64MiB"}, "first_channel"]
    yield route("streamed_uploads", "POST /v1/streamed/uploads", streamed, [], "chat")
