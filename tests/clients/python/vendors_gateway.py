"""Runs a gateway with a channel for each of several vendors of videos, with the endpoints whose declarations are shipped, and with
those of Azure OpenAI, until SIGTERM: `vendors_gateway.py PROGRAM FOLDER SIMULATOR_URL`.

The vendors are those that the simulated provider speaks. The model of a channel is `of-FAMILY`, and its tasks end at once.
Writes its address to FOLDER/url.
"""

import sys
from pathlib import Path

from gateway_process import serve

BEARER = {"bearer": "vendor-key"}
# Family, path below /vendor, channel model, credential.
VENDORS = [
    ("minimax", "minimax", "MiniMax-Hailuo-02", BEARER),
    ("minimax-v2", "minimax-v2", "MiniMax-H3", BEARER),
    ("runway", "runway", "gen4.5", BEARER),
    ("luma", "luma/dream-machine/v1", "ray-2", BEARER),
    # Tokens are minted, and the stub verifies them.
    ("kling", "kling", "kling-v2-6", {"jwt": {"issuer": "vendor-key", "secret": "vendor-key-secret"}}),
    ("fal", "fal", "fal-ai/veo3.1", {"header": {"name": "authorization", "value": "Key vendor-key"}}),
    # The file needs the credential.
    ("veo", "veo/v1beta", "veo-3.1-generate-preview", {"header": {"name": "x-goog-api-key", "value": "vendor-key"}}),
]
# Protocol, path.
ENDPOINTS = [
    ("embeddings", "/v1/embeddings"),
    ("completions", "/v1/completions"),
    ("moderations", "/v1/moderations"),
    ("image_generation", "/v1/images/generations"),
    ("speech", "/v1/audio/speech"),
    ("transcription", "/v1/audio/transcriptions"),
    ("translation", "/v1/audio/translations"),
    ("image_variation", "/v1/images/variations"),
]
# Those whose requests are forms.
FORMS = ["transcription", "translation", "image_variation"]
# Endpoints of deployments: protocol, path.
DEPLOYMENTS = [
    ("chat", "chat/completions"),
    ("completions", "completions"),
    ("embeddings", "embeddings"),
    ("image_generation", "images/generations"),
    ("image_edit", "images/edits"),
    ("speech", "audio/speech"),
    ("transcription", "audio/transcriptions"),
    ("translation", "audio/translations"),
]
VIDEOS = "/v1/videos"
GENERIC = "/v1/video/generations"


def routes(simulator):
    def channel(family, base, model, credential):
        return {
            "base_url": f"{simulator}/~queue=1ms;run=1ms/vendor/{base}",
            "protocols": ["video"],
            "family": family,
            "credential": credential,
            "models": {f"of-{family}": model},
        }

    def about_task(match, operation, protocol="videos"):
        request = ["authenticate", {"map_task": {"operation": operation}}]
        return {"name": operation + "_" + protocol, "match": match, "protocol": protocol, "request": request}

    def endpoint(protocol, path):
        request = ["require_form" if protocol in FORMS else "require_json", "authenticate", "route_model"]
        response = ["pass_sse", "meter_usage", "restore_model"]
        return {"name": protocol, "match": f"POST {path}", "protocol": protocol, "request": request, "response": response}

    def deployment(protocol, path):
        body = {
            "image_edit": {"require_json": {"also_accept": "multipart"}},
            **dict.fromkeys(FORMS, "require_form"),
        }.get(protocol, "require_json")
        return {
            "name": f"azure_{protocol}",
            "match": f"POST /openai/deployments/{{+model}}/{path}",
            "protocol": protocol,
            "request": [body, {"authenticate": {"headers": ["api-key"]}}, "route_model"],
            "response": ["pass_sse", "meter_usage", "restore_model"],
        }

    azure_key = {"authenticate": {"headers": ["api-key"]}}
    without_prefix = {"rewrite_path": {"match": "^/openai/(.+)$", "to": "/v1/$1"}}

    def azure_response(name, match, first, then):
        request = [*first, azure_key, without_prefix, *then]
        response = ["pass_sse", "meter_usage", "restore_model", "remember_ids"]
        return {"name": name, "match": match, "protocol": "responses", "request": request, "response": response}

    endpoints = {
        "base_url": f"{simulator}/v1",
        "protocols": ["chat", "responses", "image_edit", *[protocol for protocol, _ in ENDPOINTS]],
        "credential": BEARER,
        "models": {"demo-endpoints": "sim-large-2026-08", "demo-whisper": "sim-whisper-1", "team/gpt 4": "sim-small-2026-08"},
    }
    # `/v2` is part of the path.
    ranks = {
        "base_url": simulator,
        "protocols": ["cohere_rerank"],
        "credential": BEARER,
        "models": {"demo-ranks": "sim-large-2026-08"},
    }
    form_or_json = {"require_json": {"also_accept": "multipart"}}
    create = ["authenticate", "route_model", "validate", "convert_videos", "store_media", {"map_task": {"operation": "create"}}]
    others = [f"POST {VIDEOS}/{{id}}/remix", f"POST {VIDEOS}/edits", f"POST {VIDEOS}/extensions", f"POST {VIDEOS}/characters"]
    return {
        "server": {"listen": "127.0.0.1:0", "admin": "127.0.0.1:0"},
        "egress": {"allow": ["127.0.0.1"]},
        "task_keys": ["0123456789abcdef0123456789abcdef"],
        "callers": [
            {
                "name": "demo",
                "key_sha256": "f77894fdfa58e447c57e077eaa9708e8e009c84dc6aba2db80461275e9b85be7",
                "models": ["*"],
            }
        ],
        "channels": {"endpoints": endpoints, "ranks": ranks, **{vendor[0]: channel(*vendor) for vendor in VENDORS}},
        "routes": [
            *[endpoint(*row) for row in ENDPOINTS],
            endpoint("cohere_rerank", "/v2/rerank"),
            *[deployment(*row) for row in DEPLOYMENTS],
            azure_response("azure_create", "POST /openai/responses", ["require_json"], ["route_model", "follow_ids"]),
            azure_response("azure_by_id", "GET|DELETE /openai/responses/{id}", [], ["follow_ids"]),
            {"name": "azure_models", "match": "GET /openai/models", "request": [azure_key, "list_models"]},
            {"name": "azure_model", "match": "GET /openai/models/{+id}", "request": [azure_key, "list_models"]},
            {"name": "create", "match": f"POST {VIDEOS}", "protocol": "videos", "request": [form_or_json, *create]},
            about_task(f"GET {VIDEOS}", "list"),
            about_task(others, "unsupported"),
            about_task(f"GET {VIDEOS}/{{id}}", "query"),
            about_task(f"GET {VIDEOS}/{{id}}/content", "content"),
            about_task(f"DELETE {VIDEOS}/{{id}}", "delete"),
            about_task(f"GET {GENERIC}/{{id}}", "query", "video"),
        ],
    }


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]), routes(sys.argv[3].rstrip("/")), "http")
