//! Tests of what entries of LiteLLM's `model_list` become besides chat at one account.

use super::litellm;
use serde_json::{Value, json};

fn entry(params: Value) -> Value {
    let mut entry = json!({"model_name": "m", "litellm_params": {"model": "openai/gpt-4o"}});
    for (key, value) in params.as_object().unwrap() {
        match key.as_str() {
            "model_info" => entry[key] = value.clone(),
            key => entry["litellm_params"][key] = value.clone(),
        }
    }
    entry
}

fn first_channel(parsed: &Value) -> Value {
    let channels = parsed["channels"].as_object().unwrap();
    channels.values().next().cloned().unwrap_or_default()
}

/// The steps of a route's request.
fn steps(parsed: &Value, route: &str) -> Vec<Value> {
    let mut routes = parsed["routes"].as_array().unwrap().iter();
    let route = routes.find(|one| one["name"] == route);
    route.map_or_else(Vec::new, |one| one["request"].as_array().unwrap().clone())
}

#[test]
fn providers_with_other_protocols_have_channels_for_them() {
    let azure = "https://r.example";
    for (params, pointer, expected) in [
        (
            json!({"model": "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0", "aws_region_name": "eu-west-1"}),
            "/base_url",
            json!("https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1"),
        ),
        (
            json!({"model": "bedrock/converse/anthropic.claude-opus-4-7", "aws_region_name": "os.environ/REGION"}),
            "/base_url",
            json!("https://bedrock-mantle.${REGION}.api.aws/anthropic/v1"),
        ),
        (
            json!({"model": "bedrock/us.anthropic.claude-opus-4-7"}),
            "/credential/api_key",
            json!("${AWS_BEARER_TOKEN_BEDROCK}"),
        ),
        (
            json!({"model": "bedrock/openai.gpt-oss-120b-1:0", "aws_region_name": "us-east-1"}),
            "/base_url",
            json!("https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1"),
        ),
        (
            json!({"model": "bedrock/openai.gpt-oss-120b-1:0"}),
            "/credential/bearer",
            json!("${AWS_BEARER_TOKEN_BEDROCK}"),
        ),
        (
            json!({"model": "vertex_ai/gemini-2.5-pro", "vertex_project": "os.environ/PROJECT", "vertex_location": "global"}),
            "/base_url",
            json!(
                "https://aiplatform.googleapis.com/v1/projects/${PROJECT}/locations/global/endpoints/openapi"
            ),
        ),
        (
            json!({"model": "vertex_ai/gemini-2.5-pro", "vertex_project": "p"}),
            "/base_url",
            json!(
                "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/endpoints/openapi"
            ),
        ),
        (
            json!({"model": "vertex_ai/gemini-2.5-pro"}),
            "/models/m",
            json!("google/gemini-2.5-pro"),
        ),
        (
            json!({"model": "voyage/voyage-4-large"}),
            "/protocols",
            json!(["embeddings"]),
        ),
        (
            json!({"model": "openai/whisper-1"}),
            "/protocols",
            json!(["transcription"]),
        ),
        (
            json!({"model_info": {"mode": "batch"}}),
            "/protocols",
            json!(["chat", "responses", "batches"]),
        ),
        (
            json!({"model": "anthropic/c", "model_info": {"mode": "batch"}}),
            "/protocols",
            json!(["messages", "message_batches"]),
        ),
        (
            json!({"model": "azure_ai/claude-opus-4-7", "api_base": azure}),
            "/base_url",
            json!("https://r.example/anthropic/v1"),
        ),
        (
            json!({"model": "azure_ai/claude-opus-4-7", "api_base": format!("{azure}/anthropic")}),
            "/protocols",
            json!(["messages"]),
        ),
        (
            json!({"model": "azure_ai/mistral-large", "api_base": azure}),
            "/base_url",
            json!("https://r.example/openai/v1"),
        ),
        (
            json!({"model": "voyage/voyage-4", "model_info": {"mode": "embedding"}}),
            "/protocols",
            json!(["embeddings"]),
        ),
        (
            json!({"model": "cohere/rerank-v3.5", "api_base": "https://c.example/v2/rerank"}),
            "/base_url",
            json!("https://c.example"),
        ),
        (
            json!({"model": "openai/mine", "model_info": {"mode": "audio_speech"}}),
            "/protocols",
            json!(["speech"]),
        ),
        (
            json!({"model": "azure/mine", "api_base": azure, "api_version": "2024-10-21"}),
            "/base_url",
            json!("https://r.example/openai/deployments/{model}?api-version=2024-10-21"),
        ),
        (
            json!({"model": "azure/mine", "api_base": azure, "api_version": "2024-10-21"}),
            "/protocols",
            json!(["chat"]),
        ),
        (
            json!({"model_info": {"id": "Team a"}}),
            "/base_url",
            json!("https://api.openai.com/v1"),
        ),
    ] {
        let (yaml, summary, parsed) = litellm(entry(params.clone()), json!({}));
        let channel = first_channel(&parsed);
        assert_eq!(
            channel.pointer(pointer),
            Some(&expected),
            "{params}: {yaml}"
        );
        assert!(summary.contains("(100 %)"), "{params}: {summary}");
    }
}

#[test]
fn what_a_provider_does_not_serve_has_a_comment() {
    for params in [
        json!({"model": "bedrock/us.anthropic.claude-3-haiku-20240307-v1:0"}),
        json!({"model": "bedrock/us.amazon.nova-pro-v1:0"}),
        json!({"model": "vertex_ai/mistral-large@2411"}),
        json!({"model": "bedrock/us.anthropic.claude-sonnet-4-20250514-v1:0"}),
        json!({"model": "anthropic/claude", "model_info": {"mode": "embedding"}}),
        json!({"model": "voyage/voyage-4", "model_info": {"mode": "chat"}}),
    ] {
        let (yaml, _, parsed) = litellm(entry(params.clone()), json!({}));
        assert!(yaml.contains("# no counterpart: model_list[0]\n"), "{yaml}");
        assert_eq!(parsed["channels"], json!({}), "{params}: {yaml}");
    }
}

#[test]
fn a_probed_deployment_at_azure_has_no_dated_version() {
    let params = json!({"model": "azure/mine", "api_base": "https://r.example", "api_version": "2024-10-21"});
    let probes = json!({"general_settings": {"background_health_checks": true}});
    let (yaml, _, parsed) = litellm(entry(params), probes);
    let channel = first_channel(&parsed);
    assert_eq!(channel["base_url"], "https://r.example/openai/v1", "{yaml}");
    let words = "api_version: only Azure's dated API has versions";
    assert!(yaml.contains(words), "{yaml}");
}

#[test]
fn other_apis_have_routes_of_their_own() {
    for (mode, route, path) in [
        ("embedding", "embeddings", "POST /v1/embeddings"),
        ("completion", "completions", "POST /v1/completions"),
        ("moderation", "moderations", "POST /v1/moderations"),
        (
            "image_generation",
            "image_generation",
            "POST /v1/images/generations",
        ),
        ("audio_speech", "speech", "POST /v1/audio/speech"),
        (
            "audio_transcription",
            "transcription",
            "POST /v1/audio/transcriptions",
        ),
        ("rerank", "rerank", "POST /v1/rerank"),
        ("realtime", "realtime", "GET /v1/realtime"),
    ] {
        let params = json!({"model_info": {"mode": mode}});
        let (yaml, _, parsed) = litellm(entry(params), json!({}));
        let mut routes = parsed["routes"].as_array().unwrap().iter();
        let found = routes.find(|one| one["name"] == route).unwrap();
        assert_eq!(found["match"][0], path, "{yaml}");
        assert!(steps(&parsed, "chat").is_empty(), "{yaml}");
    }
}

#[test]
fn what_changes_bodies_is_a_step_for_the_channel() {
    let edit = |condition: &str, settings: Value| json!({"if": condition, "edit_json": settings});
    let drops = json!({"litellm_settings": {"drop_params": true}});
    for (params, others, route, step) in [
        (
            json!({"temperature": 0.5, "stop": ["a$b", "模"]}),
            json!({}),
            "chat",
            edit(
                "channel == \"openai\"",
                json!({"default": {"/temperature": 0.5, "/stop": ["a$$b", "模"]}}),
            ),
        ),
        (
            json!({"extra_body": {"a/b": {"c": "x\"y\n"}}}),
            json!({}),
            "chat",
            edit(
                "channel == \"openai\"",
                json!({"default": {"/a~1b": {"c": "x\"y\n"}}}),
            ),
        ),
        (
            json!({"model": "anthropic/c", "temperature": 0}),
            json!({}),
            "messages",
            edit(
                "channel == \"anthropic\"",
                json!({"default": {"/temperature": 0}}),
            ),
        ),
        (
            json!({"additional_drop_params": ["logit_bias"]}),
            json!({}),
            "chat",
            edit("channel == \"openai\"", json!({"remove": ["/logit_bias"]})),
        ),
        (
            json!({}),
            drops.clone(),
            "chat",
            edit(
                "channel == \"openai\" && (channel_model.startsWith(\"gpt-3\") || channel_model.startsWith(\"gpt-4\"))",
                json!({"remove": ["/reasoning_effort", "/verbosity"]}),
            ),
        ),
        (
            json!({"model": "groq/a"}),
            drops.clone(),
            "chat",
            edit(
                "channel == \"groq\"",
                json!({"remove": ["/user", "/web_search_options", "/verbosity"]}),
            ),
        ),
        (
            json!({}),
            json!({"general_settings": {"reject_clientside_metadata_tags": true}}),
            "chat",
            json!({"use": "body"}),
        ),
    ] {
        let (yaml, summary, parsed) = litellm(entry(params.clone()), others);
        let steps = steps(&parsed, route);
        assert!(steps.contains(&step), "{params}: {yaml}");
        assert!(
            summary.contains("all: ") && summary.ends_with("(100 %)\n"),
            "{summary}"
        );
    }
    // Nothing is dropped where a deployment says so, and nothing that a channel cannot change has a default.
    for (params, others) in [
        (json!({"drop_params": false}), drops),
        (json!({"extra_body": {"model": "x"}}), json!({})),
        (json!({"extra_body": {"a": {"cel": "caller"}}}), json!({})),
        (json!({"model": "anthropic/c", "max_tokens": 5}), json!({})),
    ] {
        let (yaml, _, _) = litellm(entry(params), others);
        assert!(!yaml.contains("edit_json:"), "{yaml}");
    }
}

#[test]
fn tags_ids_and_retries_are_settings_of_channels_and_routes() {
    let filtering = json!({"router_settings": {"enable_tag_filtering": true}});
    let tagged =
        entry(json!({"tags": ["teamA"], "max_retries": 4, "model_info": {"id": "Team A"}}));
    let (yaml, summary, parsed) = litellm(tagged.clone(), filtering);
    let channel = &parsed["channels"]["team-a"];
    let header = r#"request.headers["x-litellm-tags"].replace(" ", "")"#;
    let condition = format!(r#"{header} == "" || {header}.split(",").exists(t, t in ["teamA"])"#);
    assert_eq!(channel["if"], condition, "{yaml}");
    assert_eq!(parsed["routes"][0]["failover"]["max_attempts"], 5, "{yaml}");
    let restored = json!({"restore_model": {"streams": true}});
    assert_eq!(parsed["routes"][0]["response"][2], restored, "{yaml}");
    assert!(summary.ends_with("(100 %)\n"), "{summary}");
    let (yaml, _, parsed) = litellm(tagged, json!({}));
    assert_eq!(parsed["channels"]["team-a"]["if"], Value::Null, "{yaml}");
}

#[test]
fn sections_of_the_whole_file_have_counterparts() {
    for (others, pointer, expected) in [
        (
            json!({"general_settings": {"coordination_redis": {"host": "r", "port": 7000, "password": "os.environ/SECRET"}}}),
            "/state/redis",
            json!({"url": "redis://r:7000/0", "password": "${SECRET}"}),
        ),
        (
            json!({"general_settings": {"otel": true}}),
            "/tracing/endpoint",
            json!("${OTEL_EXPORTER_OTLP_ENDPOINT:-http://127.0.0.1:4318}"),
        ),
        (
            json!({"litellm_settings": {"callbacks": ["otel", "prometheus"]}}),
            "/tracing/endpoint",
            json!("${OTEL_EXPORTER_OTLP_ENDPOINT:-http://127.0.0.1:4318}"),
        ),
        (
            json!({"general_settings": {"disable_prisma_schema_update": true},
                "litellm_settings": {"require_auth_for_metrics_endpoint": false, "disable_end_user_cost_tracking_prometheus_only": true}}),
            "/tracing",
            Value::Null,
        ),
        (
            json!({"general_settings": {"reject_clientside_metadata_tags": true}}),
            "/chains/body/4/if",
            json!("has(json(\"/metadata/tags\"))"),
        ),
    ] {
        let (yaml, summary, parsed) = litellm(entry(json!({})), others.clone());
        let found = parsed.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(found, expected, "{others}: {yaml}");
        assert!(summary.ends_with("(100 %)\n"), "{others}: {summary}");
    }
}

#[test]
fn dropped_fields_of_kinds_of_models_are_no_reason_for_another_channel() {
    let models = ["gpt-4o", "gpt-5", "mine"].map(|model| {
        json!({"model_name": model, "litellm_params": {"model": format!("openai/{model}")}})
    });
    let others = json!({"model_list": models, "litellm_settings": {"drop_params": true}});
    let (yaml, _, parsed) = litellm(json!({}), others);
    assert_eq!(parsed["channels"].as_object().unwrap().len(), 1, "{yaml}");
    let edits = steps(&parsed, "chat");
    let edits = edits.iter().filter(|step| step["edit_json"].is_object());
    assert_eq!(edits.count(), 2, "{yaml}");
}

#[test]
fn a_passed_through_path_is_a_route_to_a_channel_of_its_own() {
    let endpoint = |path: &str, more: Value| {
        let mut endpoint = json!({"path": path, "target": "os.environ/TARGET", "include_subpath": true, "headers": {"Authorization": "os.environ/KEY"}});
        for (key, value) in more.as_object().unwrap() {
            endpoint[key] = value.clone();
        }
        json!({"general_settings": {"pass_through_endpoints": [endpoint]}})
    };
    let (yaml, summary, parsed) = litellm(entry(json!({})), endpoint("/to/azure", json!({})));
    assert!(summary.ends_with("(100 %)\n"), "{summary}");
    let channel = &parsed["channels"]["to-azure"];
    assert_eq!(channel["base_url"], "${TARGET}", "{yaml}");
    assert_eq!(channel["headers"]["Authorization"], "${KEY}", "{yaml}");
    assert_eq!(parsed["protocols"]["pass_through_1"]["path"], "/to/azure");
    let rewritten = &steps(&parsed, "pass_through_1")[2]["rewrite_path"];
    assert_eq!(rewritten["match"], "^/to/azure/?(.*)$", "{yaml}");
    for (path, more) in [
        ("/a", json!({"include_subpath": false})),
        ("/", json!({})),
        ("/a{b}", json!({})),
        ("/a", json!({"target": "ftp://a.example"})),
    ] {
        let (yaml, _, parsed) = litellm(entry(json!({})), endpoint(path, more));
        assert_eq!(parsed["channels"].as_object().unwrap().len(), 1, "{yaml}");
        let remark = "# no counterpart: general_settings.pass_through_endpoints[0]\n";
        assert!(yaml.contains(remark), "{yaml}");
    }
}
