//! Tests of the readers and the writer together.

mod accounts;
mod deployments;
mod guardrails;
mod model_names;
mod redis_passwords;

use super::{SourceFormat, convert};
use serde_json::{Value, json};

fn converted(format: SourceFormat, source: &Value) -> (String, String, Value) {
    let Ok(conversion) = convert(format, &source.to_string()) else {
        panic!("not converted: {source}");
    };
    let yaml = conversion.yaml();
    let parsed = serde_saphyr::from_str(&yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"));
    (yaml, conversion.summary(), parsed)
}

fn litellm(entry: Value, others: Value) -> (String, String, Value) {
    let mut source = json!({"model_list": [entry]});
    for (key, value) in others.as_object().unwrap() {
        source[key] = value.clone();
    }
    converted(SourceFormat::Litellm, &source)
}

fn new_api(row: Value) -> (String, String, Value) {
    converted(SourceFormat::NewApi, &json!([row]))
}

#[test]
fn parameters_of_a_deployment_are_settings_of_its_channel() {
    for (params, pointer, expected) in [
        (json!({}), "/base_url", json!("https://api.openai.com/v1")),
        (json!({}), "/protocols", json!(["chat", "responses"])),
        (
            json!({"api_base": "https://a.example/v1/"}),
            "/base_url",
            json!("https://a.example/v1"),
        ),
        (
            json!({"api_base": "https://a.example/v1"}),
            "/protocols",
            json!(["chat"]),
        ),
        (
            json!({"api_base": "os.environ/BASE"}),
            "/base_url",
            json!("${BASE}"),
        ),
        (json!({}), "/credential/bearer", json!("${OPENAI_API_KEY}")),
        (
            json!({"api_key": "os.environ/MY_KEY"}),
            "/credential/bearer",
            json!("${MY_KEY}"),
        ),
        (
            json!({"api_key": "sk-canary"}),
            "/credential/bearer",
            json!("${OPENAI_API_KEY}"),
        ),
        (
            json!({"model": "azure/mine", "api_base": "https://r.openai.azure.com/"}),
            "/base_url",
            json!("https://r.openai.azure.com/openai/v1"),
        ),
        (
            json!({"model": "azure/mine", "api_base": "https://r.openai.azure.com"}),
            "/credential/header/name",
            json!("api-key"),
        ),
        (
            json!({"model": "anthropic/c"}),
            "/base_url",
            json!("https://api.anthropic.com/v1"),
        ),
        (
            json!({"model": "anthropic/c"}),
            "/credential/api_key",
            json!("${ANTHROPIC_API_KEY}"),
        ),
        (
            json!({"model": "openrouter/a/b"}),
            "/models/m",
            json!("a/b"),
        ),
        (json!({"model": "openai/x$y"}), "/models/m", json!("x$$y")),
        (
            json!({"rpm": "1_000"}),
            "/limits/requests_per_minute",
            json!(1000),
        ),
        (
            json!({"tpm": 20000}),
            "/limits/tokens_per_minute",
            json!(20000),
        ),
        (
            json!({"max_parallel_requests": 3}),
            "/limits/concurrent",
            json!(3),
        ),
        (
            json!({"timeout": 0.5}),
            "/timeouts/first_byte",
            json!("500ms"),
        ),
        (
            json!({"timeout": 5, "stream_timeout": 0.5}),
            "/timeouts",
            json!({"first_byte": "5s", "idle": "500ms"}),
        ),
        (
            json!({"stream_timeout": 90}),
            "/timeouts",
            json!({"first_byte": "90s", "idle": "90s"}),
        ),
        (
            json!({"stream_timeout": 9}),
            "/timeouts",
            json!({"idle": "9s"}),
        ),
        (json!({"timeout": 7200}), "/timeouts/total", json!("7200s")),
        (json!({"weight": 0.25}), "/weight", json!(25)),
        (json!({"order": 2}), "/tier", json!(2)),
        (
            json!({"cooldown_time": 30}),
            "/health/cool_down_max",
            json!("30s"),
        ),
        (
            json!({"organization": "org-1"}),
            "/headers/openai-organization",
            json!("org-1"),
        ),
        (
            json!({"extra_headers": {"X-Token": "canary"}}),
            "/headers/X-Token",
            json!("${OPENAI_X_TOKEN_HEADER}"),
        ),
        (
            json!({"input_cost_per_token": 0.00000015}),
            "/prices/m/input",
            json!(0.15),
        ),
    ] {
        let mut entry = json!({"model_name": "m", "litellm_params": {"model": "openai/n"}});
        for (key, value) in params.as_object().unwrap() {
            entry["litellm_params"][key] = value.clone();
        }
        let (yaml, summary, parsed) = litellm(entry, json!({}));
        let channels = parsed["channels"].as_object().unwrap();
        let channel = channels.values().next().unwrap();
        assert_eq!(
            channel.pointer(pointer),
            Some(&expected),
            "{params}: {yaml}"
        );
        assert!(summary.contains("(100 %)"), "{params}: {summary}");
        assert!(!yaml.contains("canary"), "{yaml}");
    }
}

#[test]
fn what_has_no_counterpart_has_a_comment_and_no_channel_that_cannot_work() {
    for (model, params, others, path) in [
        ("bedrock/a", json!({}), json!({}), "model_list[0]"),
        ("openai/*", json!({}), json!({}), "model_list[0]"),
        (
            "vertex_ai/mistral-large@2411",
            json!({}),
            json!({}),
            "model_list[0]",
        ),
        ("azure/a", json!({}), json!({}), "model_list[0]"),
        (
            "openai/a",
            json!({"api_base": "https://u:canary@a.example"}),
            json!({}),
            "model_list[0]",
        ),
        (
            "openai/a",
            json!({"new_key": 1}),
            json!({}),
            "model_list[0].litellm_params.new_key",
        ),
        (
            "openai/a",
            json!({"weight": 0}),
            json!({}),
            "model_list[0].litellm_params.weight",
        ),
        (
            "openai/a",
            json!({}),
            json!({"router_settings": {"routing_strategy": "latency-based-routing"}}),
            "router_settings.routing_strategy",
        ),
        (
            "openai/a",
            json!({}),
            json!({"router_settings": {"fallbacks": [{"m": ["gone"]}]}}),
            "router_settings.fallbacks[0].m[0]",
        ),
        (
            "openai/a",
            json!({}),
            json!({"environment_variables": {"A": "canary"}}),
            "environment_variables.A",
        ),
        (
            "openai/a",
            json!({}),
            json!({"a\nchannels": 1}),
            "a\u{fffd}channels",
        ),
    ] {
        let mut entry = json!({"model_name": "m", "litellm_params": {"model": model}});
        for (key, value) in params.as_object().unwrap() {
            entry["litellm_params"][key] = value.clone();
        }
        let (yaml, summary, parsed) = litellm(entry, others);
        assert!(
            yaml.contains(&format!("# no counterpart: {path}\n")),
            "{path}: {yaml}"
        );
        assert!(!summary.contains("all: 2 of 2"), "{summary}");
        assert!(!yaml.contains("canary"), "{yaml}");
        let is_channel = parsed["channels"]
            .as_object()
            .is_some_and(|channels| !channels.is_empty());
        assert_eq!(is_channel, path != "model_list[0]", "{yaml}");
    }
}

#[test]
fn equal_accounts_are_one_channel_and_models_with_limits_have_their_own() {
    let entry = |name: &str, rpm: Value| json!({"model_name": name, "litellm_params": {"model": "openai/n", "api_key": "sk-canary"}, "rpm": rpm});
    for (entries, channels) in [
        (vec![entry("a", Value::Null), entry("b", Value::Null)], 1),
        (vec![entry("a", Value::Null), entry("a", Value::Null)], 2),
        (vec![entry("a", json!(5)), entry("b", json!(5))], 2),
    ] {
        let (yaml, _, parsed) = converted(SourceFormat::Litellm, &json!({"model_list": entries}));
        assert_eq!(
            parsed["channels"].as_object().unwrap().len(),
            channels,
            "{yaml}"
        );
    }
}

#[test]
fn fields_of_a_row_are_settings_of_its_channel() {
    for (fields, pointer, expected) in [
        (json!({}), "/base_url", json!("https://api.openai.com/v1")),
        (
            json!({"base_url": "https://a.example/"}),
            "/base_url",
            json!("https://a.example/v1"),
        ),
        (
            json!({"type": 8, "base_url": "https://a.example/x/chat/completions"}),
            "/base_url",
            json!("https://a.example/x"),
        ),
        (
            json!({"type": 26}),
            "/base_url",
            json!("https://open.bigmodel.cn/api/paas/v4"),
        ),
        (
            json!({"type": 39, "other": "acc"}),
            "/base_url",
            json!("https://api.cloudflare.com/client/v4/accounts/acc/ai/v1"),
        ),
        (
            json!({"type": 14}),
            "/credential/api_key",
            json!("${THE_ONE_API_KEY}"),
        ),
        (
            json!({"key": "sk-canary-a\nsk-canary-b"}),
            "/credentials/1/bearer",
            json!("${THE_ONE_API_KEY_2}"),
        ),
        (
            json!({"model_mapping": "{\"m\":\"n\",\"n\":\"o\"}"}),
            "/models/m",
            json!("o"),
        ),
        (json!({"weight": 7}), "/weight", json!(7)),
        (
            json!({"auto_ban": 0}),
            "/health/consecutive_failures",
            json!(0),
        ),
        (
            json!({"openai_organization": "org"}),
            "/headers/openai-organization",
            json!("org"),
        ),
    ] {
        let mut row = json!({"type": 1, "name": "The one", "key": "sk-canary", "status": 1, "models": "m", "group": "default"});
        for (key, value) in fields.as_object().unwrap() {
            row[key] = value.clone();
        }
        let (yaml, summary, parsed) = new_api(row);
        assert_eq!(
            parsed["channels"]["the-one"].pointer(pointer),
            Some(&expected),
            "{yaml}"
        );
        assert!(summary.contains("(100 %)"), "{fields}: {summary} {yaml}");
        assert!(!yaml.contains("canary"), "{yaml}");
    }
}

#[test]
fn hostile_texts_stay_texts() {
    for text in [
        "a\"b",
        "a\nchannels: {}",
        "#a",
        "a: b",
        "- a",
        "${HOME}",
        "模型",
        "a\u{2028}b",
        "'",
        "{a}",
        "*",
        "",
    ] {
        let entry = json!({
            "model_name": text,
            "litellm_params": {"model": format!("openai/{text}"), "api_key": text, "extra_headers": {text: text}, text: text},
            text: {text: text},
        });
        let (yaml, _, parsed) =
            litellm(entry, json!({text: text, "router_settings": {text: text}}));
        let keys: Vec<&String> = parsed.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["callers", "chains", "channels", "routes"], "{yaml}");
        let row = json!({"type": 1, "name": text, "key": text, "models": format!("m,{text}"), "group": text, "base_url": text,
            "header_override": {text: text}, "setting": text, text: text});
        let (yaml, _, parsed) = new_api(row);
        let keys: Vec<&String> = parsed.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["callers", "chains", "channels", "routes"], "{yaml}");
    }
}

#[test]
fn priorities_are_tiers_in_reverse_order() {
    let row = |name: &str, priority: i64| json!({"type": 1, "name": name, "models": "m", "status": 1, "priority": priority});
    let rows = json!({"data": [row("low", -5), row("high", 100), row("middle", 0)]});
    let (yaml, _, parsed) = converted(SourceFormat::NewApi, &rows);
    for (name, tier) in [
        ("high", Value::Null),
        ("middle", json!(1)),
        ("low", json!(2)),
    ] {
        assert_eq!(parsed["channels"][name]["tier"], tier, "{yaml}");
    }
}
