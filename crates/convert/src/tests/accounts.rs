//! Tests of accounts for files, of models that are one of several, and of settings that need none here.

use super::litellm;
use serde_json::{Value, json};

fn route<'p>(parsed: &'p Value, name: &str) -> Option<&'p Value> {
    let mut routes = parsed["routes"].as_array().unwrap().iter();
    routes.find(|route| route["name"] == name)
}

#[test]
fn accounts_for_files_are_channels_that_requests_name() {
    let openai = json!({"custom_llm_provider": "openai", "api_key": "os.environ/KEY"});
    let azure = json!({"custom_llm_provider": "azure", "api_base": "os.environ/BASE", "api_key": "os.environ/OTHER", "api_version": "2024-05-01-preview"});
    let header = "request.headers[\"custom-llm-provider\"]";
    let of_azure = json!({"if": format!("{header} == \"azure\""), "pin": "azure-files"});
    let of_others = format!("!({header} in [\"azure\"])");
    for (model, files, pins) in [
        ("openai/*", json!([openai]), vec![]),
        (
            "openai/*",
            json!([azure]),
            vec![json!({"pin": "azure-files"})],
        ),
        ("openai/*", json!([azure, openai]), vec![of_azure.clone()]),
        // Another account has files, too.
        (
            "azure/*",
            json!([azure, openai]),
            vec![of_azure, json!({"if": of_others, "pin": "openai-files"})],
        ),
    ] {
        let base = model.starts_with("azure").then_some("https://r.example");
        let params = json!({"model": model, "api_key": "os.environ/KEY", "api_base": base});
        let entry = json!({"model_name": "all/*", "litellm_params": params});
        let (yaml, summary, parsed) = litellm(entry, json!({"files_settings": files}));
        let steps = route(&parsed, "files").unwrap()["request"]
            .as_array()
            .unwrap();
        let found: Vec<Value> = steps
            .iter()
            .filter(|step| !step["pin"].is_null())
            .cloned()
            .collect();
        assert_eq!(found, pins, "{yaml}");
        let section = format!(
            "files_settings: {0} of {0} settings",
            files
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one.as_object().unwrap().len())
                .sum::<usize>()
        );
        assert!(summary.contains(&section), "{summary}");
        let batches = route(&parsed, "batches").is_some();
        let has_openai = model.starts_with("openai") && files.as_array().unwrap().contains(&openai);
        assert_eq!(batches, has_openai, "{yaml}");
        if files.as_array().unwrap().contains(&azure) {
            let url = &parsed["channels"]["azure-files"]["base_url"];
            assert_eq!(
                url, "${BASE}/openai?api-version=2024-05-01-preview",
                "{yaml}"
            );
        }
    }
}

#[test]
fn batches_have_routes_by_the_provider_of_their_model() {
    for (model, name, paths) in [
        ("openai/a", "batches", "/v1/batches"),
        ("anthropic/a", "message_batches", "/v1/messages/batches"),
    ] {
        let entry = json!({"model_name": "m", "litellm_params": {"model": model}, "model_info": {"mode": "batch"}});
        let (yaml, _, parsed) = litellm(entry, json!({}));
        let create = route(&parsed, name).unwrap();
        assert_eq!(create["match"][0], format!("POST {paths}"), "{yaml}");
        for end in ["list", "one", "cancel"] {
            assert!(route(&parsed, &format!("{name}_{end}")).is_some(), "{yaml}");
        }
        assert_eq!(
            route(&parsed, "files").is_some(),
            name == "batches",
            "{yaml}"
        );
    }
}

#[test]
fn a_router_is_a_model_of_the_channels_that_it_chooses_from() {
    let target = |name: &str, tier: Value, cost: f64| {
        json!({"model_name": name, "litellm_params": {"model": format!("openai/{name}"), "input_cost_per_token": cost},
            "model_info": {"adaptive_router_preferences": {"quality_tier": tier, "strengths": []}}})
    };
    let router = |names: Value| {
        json!({"model_name": "router", "litellm_params": {"model": "auto_router/adaptive_router",
            "adaptive_router_config": {"available_models": names, "weights": {"quality": 0.7, "cost": 0.3}}}})
    };
    let list = |names: Value| json!({"model_list": [router(names), target("fast", json!(2), 1e-7), target("smart", json!(3), 5e-6)]});
    let (yaml, summary, parsed) = litellm(json!({}), list(json!(["fast", "smart"])));
    let channels = parsed["channels"].as_object().unwrap().values();
    let found: Vec<(&Value, &Value, &Value)> = channels
        .filter(|channel| channel["models"]["router"].is_string())
        .map(|channel| {
            (
                &channel["models"]["router"],
                &channel["weight"],
                &channel["if"],
            )
        })
        .collect();
    let condition = |tiers: &str| {
        json!(format!(
            "request.headers[\"x-litellm-min-quality-tier\"] in [\"\", {tiers}]"
        ))
    };
    let (of_two, of_three) = (condition("\"1\", \"2\""), condition("\"1\", \"2\", \"3\""));
    let expected = [
        (&json!("fast"), &json!(65), &of_two),
        (&json!("smart"), &json!(49), &of_three),
    ];
    assert_eq!(found, expected, "{yaml}");
    assert!(summary.ends_with("(100 %)\n"), "{summary}");
    let (yaml, _, _) = litellm(json!({}), list(json!(["fast", "gone"])));
    let path = "adaptive_router_config.available_models[1]\n";
    assert!(yaml.contains(path), "{yaml}");
    let (yaml, _, parsed) = litellm(json!({}), list(json!(["gone"])));
    assert!(yaml.contains("# no counterpart: model_list[0]\n"), "{yaml}");
    assert_eq!(parsed["channels"].as_object().unwrap().len(), 1, "{yaml}");
}

#[test]
fn settings_that_need_none_here_have_a_note() {
    let openai = json!({"model_name": "m", "litellm_params": {"model": "openai/a"}});
    let with = |key: &str, value: Value| {
        let mut entry = openai.clone();
        entry["model_info"] = json!({});
        entry["model_info"][key] = value;
        entry
    };
    for (entry, others, note) in [
        (
            with("base_model", json!("gpt-4o")),
            json!({}),
            "model_list[0].model_info.base_model: Headgate has no table",
        ),
        (
            with("supports_vision", json!(true)),
            json!({}),
            "model_list[0].model_info.supports_vision: images,",
        ),
        (
            openai.clone(),
            json!({"litellm_settings": {"set_verbose": true}}),
            "litellm_settings.set_verbose: the log level",
        ),
        (
            openai.clone(),
            json!({"general_settings": {"database_url": "postgresql://u:canary@h/d", "store_model_in_db": true}}),
            "general_settings.database_url, general_settings.store_model_in_db: models and callers",
        ),
        (
            openai.clone(),
            json!({"general_settings": {"use_redis_transaction_buffer": true}}),
            "general_settings.use_redis_transaction_buffer: counts of requests",
        ),
    ] {
        let (yaml, summary, _) = litellm(entry, others);
        assert!(yaml.contains(note), "{note}: {yaml}");
        assert!(summary.ends_with("(100 %)\n"), "{summary}");
        assert!(!yaml.contains("canary"), "{yaml}");
    }
}

#[test]
fn variables_of_the_file_name_the_redis_server() {
    let entry = json!({"model_name": "m", "litellm_params": {"model": "openai/a"}});
    for (variables, redis) in [
        (
            json!({"REDIS_HOST": "r", "REDIS_PORT": null, "REDIS_PASSWORD": null}),
            json!({"url": "redis://r:6379/0"}),
        ),
        (
            json!({"REDIS_HOST": "r", "REDIS_PORT": 7000, "REDIS_PASSWORD": "canary"}),
            json!({"url": "redis://r:7000/0", "password": "${REDIS_PASSWORD}"}),
        ),
    ] {
        let others = json!({"environment_variables": variables});
        let (yaml, summary, parsed) = litellm(entry.clone(), others);
        assert_eq!(parsed["state"]["redis"], redis, "{yaml}");
        assert!(summary.ends_with("(100 %)\n"), "{summary}");
        assert!(!yaml.contains("canary"), "{yaml}");
    }
}

#[test]
fn an_account_of_vertex_ai_is_the_file_of_its_service_account() {
    for (account, file) in [
        (json!("os.environ/ACCOUNT"), "${ACCOUNT}"),
        (json!("keys/vertex.json"), "keys/vertex.json"),
        (
            json!("{\"private_key\": \"canary\"}"),
            "${GOOGLE_APPLICATION_CREDENTIALS}",
        ),
        (json!(null), "${GOOGLE_APPLICATION_CREDENTIALS}"),
    ] {
        let params = json!({"model": "vertex_ai/gemini-2.5-pro", "vertex_credentials": account});
        let list = json!([{"model_name": "m", "litellm_params": params}]);
        let (yaml, _, parsed) = litellm(json!({}), json!({"model_list": list}));
        let channels = parsed["channels"].as_object().unwrap();
        let credential = &channels.values().next().unwrap()["credential"];
        assert_eq!(*credential, json!({"gcp": {"credentials_file": file}}));
        assert!(!yaml.contains("canary"), "{yaml}");
    }
}

#[test]
fn callers_of_either_route_reach_models_of_the_other_protocol() {
    for (models, chat, messages) in [
        (
            vec!["anthropic/claude-opus-4-7"],
            json!(["messages"]),
            json!(null),
        ),
        (vec!["groq/llama"], json!(null), json!(["chat"])),
        (
            vec!["anthropic/claude-opus-4-7", "groq/llama"],
            json!(["messages"]),
            json!(["chat"]),
        ),
    ] {
        let list = models
            .iter()
            .map(|model| json!({"model_name": model, "litellm_params": {"model": model}}));
        let list: Vec<Value> = list.collect();
        let (_, _, parsed) = litellm(json!({}), json!({"model_list": list}));
        for (name, translated) in [("chat", chat), ("messages", messages)] {
            let route = route(&parsed, name).unwrap();
            assert_eq!(route["translate"], translated, "{models:?}: {name}");
        }
    }
}

#[test]
fn claude_on_vertex_ai_is_a_channel_of_its_own() {
    for (model, protocol, cloud, end) in [
        (
            "claude-sonnet-4-5@20250929",
            "messages",
            json!("vertex_ai"),
            "publishers/anthropic",
        ),
        ("gemini-2.5-pro", "chat", Value::Null, "endpoints/openapi"),
    ] {
        let params = json!({"model": format!("vertex_ai/{model}"), "vertex_project": "p", "vertex_location": "europe-west1"});
        let entry = json!({"model_name": "m", "litellm_params": params});
        let (yaml, _, parsed) = litellm(entry, json!({}));
        let channels = parsed["channels"].as_object().unwrap();
        let channel = channels.values().next().unwrap();
        let url =
            "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1";
        assert_eq!(channel["base_url"], format!("{url}/{end}"), "{yaml}");
        assert_eq!(channel["protocols"], json!([protocol]), "{yaml}");
        assert_eq!(
            channel.get("cloud").unwrap_or(&Value::Null),
            &cloud,
            "{yaml}"
        );
    }
}
