"""The own APIs of vendors of videos at a gateway, each below the name of its family."""

# The paths of vendors' APIs: those of creates, and those about a task. Their base URL, header and model at the provider.
VENDORS = {
    "runway": (
        ["POST /runway/v1/text_to_video", "POST /runway/v1/image_to_video"],
        ["GET /runway/v1/tasks/{id}", "DELETE /runway/v1/tasks/{id}"],
        ("runway", "authorization", "Bearer ", "gen4.5"),
    ),
    "replicate": (
        ["POST /replicate/v1/models/{+model}/predictions"],
        [
            "GET /replicate/v1/predictions/{id}",
            "POST /replicate/v1/predictions/{id}/cancel",
            "GET /replicate/v1/predictions/{id}/output",
        ],
        ("replicate/v1", "authorization", "Bearer ", "google/veo-3.1"),
    ),
    "fal": (
        ["POST /fal/{+model}"],
        [
            "GET /fal/{+model}/requests/{id}/status",
            "PUT /fal/{+model}/requests/{id}/cancel",
            "GET /fal/{+model}/requests/{id}",
        ],
        ("fal", "authorization", "Key ", "fal-ai/veo3.1"),
    ),
    "luma": (
        ["POST /luma/generations/video"],
        ["GET /luma/generations/{id}"],
        ("luma/dream-machine/v1", "authorization", "Bearer ", "ray-2"),
    ),
    "veo": (
        ["POST /veo/v1beta/models/{model}:predictLongRunning"],
        [
            "GET /veo/v1beta/models/{model}/operations/{id}",
            "GET /veo/v1beta/files/{id}:download",
        ],
        ("veo/v1beta", "x-goog-api-key", "", "veo-3.1-generate-preview"),
    ),
}
# What the simulated vendor is told, by the model of callers.
SCENARIOS = {"done": "queue=0ms;run=0ms", "queued": "queue=60m"}


def with_vendors(config, simulator):
    """A configuration with channels at the stubs of the vendors, and routes of their own APIs."""
    routes = [*config["routes"]]
    channels = {**config["channels"]}
    for family, (creates, tasks, (base, header, scheme, model)) in VENDORS.items():
        for scenario, directives in SCENARIOS.items():
            name = f"own-{scenario}" if family == "veo" else f"own/{scenario}"
            channels[f"{family}-{scenario}"] = {
                "base_url": f"{simulator}/~{directives}/vendor/{base}",
                "credential": {"header": {"name": header, "value": f"{scheme}vendor-key"}},
                "family": family,
                "protocols": ["video", family],
                "models": {name: model},
            }
        create = ["require_json", "authenticate", "route_model", "idempotency", {"map_task": {"operation": "create"}}]
        about_a_task = ["authenticate", {"map_task": {"operation": "native"}}]
        routes += [
            {"name": family, "match": creates, "protocol": family, "request": create},
            {"name": f"{family}_task", "match": tasks, "protocol": family, "request": about_a_task},
        ]
    return {
        **config,
        "channels": channels,
        "routes": routes,
        "task_keys": ["0123456789abcdef0123456789abcdef"],
        "egress": {"allow": ["127.0.0.1"]},
    }
