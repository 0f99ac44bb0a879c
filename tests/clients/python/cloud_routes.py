"""The routes and channels of a gateway for SDKs of clouds, under the paths of Google's APIs, Amazon Bedrock and Anthropic on both."""

GOOGLE = ["/v1beta", "/v1beta1/projects/{project}/locations/{location}/publishers/google", "/v1beta1/publishers/google"]
VERBS = ["generateContent", "streamGenerateContent", "countTokens"]
VERTEX = "/v1/projects/{project}/locations/{location}/publishers/anthropic/models/{model}"
BEDROCK = "/model/{model}"
CLAUDE = "eu.anthropic.claude-sonnet-4-20250514-v1:0"


def with_clouds(routes, simulator):
    """The configuration with these routes, and channels at the simulated provider."""
    return {
        **routes,
        "channels": {**routes["channels"], **cloud_channels(simulator)},
        "routes": [*routes["routes"], *cloud_routes()],
    }


def cloud_channels(simulator):
    """By name; the models are of one protocol each."""

    def channel(protocol, base_url, credential, models):
        return {"base_url": base_url, "protocols": [protocol], "credential": credential, "models": models, "unpriced": "allow"}

    key = {"header": {"name": "x-goog-api-key", "value": "vendor-key"}}
    return {
        "google": channel("gemini", f"{simulator}/v1beta", key, {"demo-gemini": "gemini-3-flash-preview"}),
        "bedrock": channel("converse", simulator, {"bearer": "vendor-key"}, {"demo-nova": "eu.amazon.nova-pro-v1:0", CLAUDE: CLAUDE}),
        "anthropic": channel("messages", f"{simulator}/v1", {"api_key": "vendor-key"}, {"demo-claude": "sim-large-2026-08", CLAUDE: "sim-large-2026-08"}),
    }


def cloud_routes():
    def route(name, protocol, paths):
        request = ["require_json", "authenticate", "route_model", "validate"]
        match = [f"POST {path}" for path in paths]
        return {"name": name, "match": match, "protocol": protocol, "request": request, "response": ["pass_sse", "meter_usage"]}

    return [
        route("gemini", "gemini", [f"{folder}/models/{{model}}:{verb}" for folder in GOOGLE for verb in VERBS]),
        route("converse", "converse", [f"{BEDROCK}/converse", f"{BEDROCK}/converse-stream"]),
        route("claude_on_vertex", "messages", [f"{VERTEX}:rawPredict", f"{VERTEX}:streamRawPredict"]),
        route("claude_on_bedrock", "messages", [f"{BEDROCK}/invoke", f"{BEDROCK}/invoke-with-response-stream"]),
    ]
