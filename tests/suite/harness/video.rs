//! Video routes, two accounts of two families, and requests for them.

use super::config::{self, caller};
use super::request::{ANN, BOB};
use super::{Gateway, Request, Simulator, WholeResponse};
use serde_json::{Value, json};

pub const GENERIC: &str = "/v1/video/generations";
pub const OPENAI: &str = "/v1/videos";
pub const FAMILY_A: &str = "/v1/family-a/video/generations";
pub const FAMILY_B: &str = "/v1/family-b/video/generations";

/// A configuration with two accounts, one for each family; `directives` control the simulated provider.
pub fn video_config(simulator: &Simulator, directives: &str) -> Value {
    let base = |version: &str| match directives {
        "" => format!("http://{}/api/{version}", simulator.address),
        some => format!("http://{}/~{some}/api/{version}", simulator.address),
    };
    let channel = |version: &str, protocol: &str, family: &str, model: &str| {
        json!({
            "base_url": base(version), "credential": {"bearer": format!("sk-{family}")},
            "protocols": [protocol, "video"], "family": family,
            "models": {model: format!("upstream-{model}")},
        })
    };
    let mut config = config::standard(&simulator.url());
    config["task_keys"] = json!(["0123456789abcdef0123456789abcdef"]);
    config["callers"] = json!([caller("ann", ANN, &["*"]), caller("bob", BOB, &["*"])]);
    config["channels"] = json!({
        "a": channel("v3", "family_a", "family-a", "demo-video-a"),
        "b": channel("v1", "family_b", "family-b", "demo-video-b"),
    });
    config["models"] = json!({});
    let mut routes = Vec::new();
    for (name, path, protocol) in [
        ("video", GENERIC, "video"),
        ("family_a", FAMILY_A, "family_a"),
        ("family_b", FAMILY_B, "family_b"),
    ] {
        routes.push(json!({
            "name": name, "match": format!("POST {path}"), "protocol": protocol,
            "request": [{"use": "body"}, "validate", {"map_task": {"operation": "create"}}],
        }));
        routes.push(json!({
            "name": format!("{name}_task"), "match": format!("GET {path}/{{id}}"),
            "protocol": protocol, "request": ["authenticate", {"map_task": {"operation": "query"}}],
        }));
        // The cancel request of each family; the generic protocol's is like family A's.
        let (method, behind) = match protocol {
            "family_b" => ("POST", "/cancel"),
            _ => ("DELETE", ""),
        };
        routes.push(json!({
            "name": format!("{name}_cancel"), "match": format!("{method} {path}/{{id}}{behind}"),
            "protocol": protocol, "request": ["authenticate", {"map_task": {"operation": "cancel"}}],
        }));
    }
    config["routes"] = json!(routes);
    config
}

/// [`video_config`] with the routes of OpenAI's video API.
pub fn openai_config(simulator: &Simulator, directives: &str) -> Value {
    let mut config = video_config(simulator, directives);
    let routes = config["routes"].as_array_mut().unwrap();
    routes.extend(openai_routes());
    config
}

/// The routes of OpenAI's video API.
pub fn openai_routes() -> Vec<Value> {
    let route = |name: &str, pattern: &str, operation: &str| {
        json!({
            "name": name, "match": pattern, "protocol": "videos",
            "request": ["authenticate", {"map_task": {"operation": operation}}],
        })
    };
    let create = json!([
        {"require_json": {"also_accept": "multipart"}}, "authenticate", "route_model", "validate",
        "idempotency", "convert_videos", "store_media", "callbacks", {"map_task": {"operation": "create"}},
    ]);
    let other = [
        "POST {id}/remix",
        "POST edits",
        "POST extensions",
        "POST characters",
        "GET characters/{id}",
    ];
    let other = other.map(|one| one.replacen(' ', &format!(" {OPENAI}/"), 1));
    vec![
        json!({"name": "videos", "match": format!("POST {OPENAI}"), "protocol": "videos", "request": create}),
        json!({
            "name": "videos_other", "match": other, "protocol": "videos",
            "request": ["authenticate", {"map_task": {"operation": "unsupported"}}],
        }),
        route("videos_list", &format!("GET {OPENAI}"), "list"),
        route("videos_task", &format!("GET {OPENAI}/{{id}}"), "query"),
        route(
            "videos_content",
            &format!("GET|HEAD {OPENAI}/{{id}}/content"),
            "content",
        ),
        route(
            "videos_delete",
            &format!("DELETE {OPENAI}/{{id}}"),
            "delete",
        ),
    ]
}

pub fn create_body(path: &str, model: &str) -> Value {
    match path {
        FAMILY_A => json!({"model": model, "content": [{"type": "text", "text": "a gate"}]}),
        FAMILY_B => json!({"model": model, "input": {"prompt": "a gate"}}),
        _ => json!({"model": model, "prompt": "a gate", "ratio": "16:9", "duration": 5}),
    }
}

pub async fn create(gateway: &Gateway, path: &str, model: &str) -> WholeResponse {
    let body = create_body(path, model);
    gateway.ask(&Request::post(path, body.to_string())).await
}

pub fn id_of(path: &str, answer: &WholeResponse) -> String {
    let pointer = match path {
        FAMILY_A => "/id",
        FAMILY_B => "/output/task_id",
        _ => "/task_id",
    };
    let id = answer.json().pointer(pointer).cloned().unwrap_or_default();
    let id = id
        .as_str()
        .unwrap_or_else(|| panic!("{}", answer.text()))
        .to_owned();
    assert!(id.starts_with("task_"), "{id}");
    id
}

pub async fn ask(gateway: &Gateway, path: &str, id: &str) -> WholeResponse {
    gateway.ask(&Request::get(&format!("{path}/{id}"))).await
}

/// Cancels a task.
pub async fn cancel(gateway: &Gateway, path: &str, id: &str) -> WholeResponse {
    gateway.ask(&cancel_request(path, id)).await
}

pub fn cancel_request(path: &str, id: &str) -> Request {
    match path {
        FAMILY_B => {
            Request::new("POST", &format!("{path}/{id}/cancel")).header("Content-Length", "0")
        }
        _ => Request::new("DELETE", &format!("{path}/{id}")),
    }
}

/// The operations on tasks that the provider has received, in order: `create`, `query`, `cancel`.
pub async fn operations(simulator: &Simulator) -> Vec<String> {
    let records = simulator.records().await;
    let operation = |record: &Value| {
        let (_, operation) = record["endpoint"].as_str()?.split_once('.')?;
        Some(operation.to_owned())
    };
    records.iter().filter_map(operation).collect()
}

/// How often the provider has received the operation `operation`.
pub async fn count(simulator: &Simulator, operation: &str) -> usize {
    let operations = operations(simulator).await;
    operations
        .iter()
        .filter(|known| *known == operation)
        .count()
}

/// How many creates the provider has received.
pub async fn creates(simulator: &Simulator) -> usize {
    count(simulator, "create").await
}

/// Sets how long task statuses are fresh in both families, while running and when ended; `more` is added to the
/// section.
pub fn fresh_for(config: &mut Value, under_way: &str, when_done: &str, more: &Value) {
    for (family, path) in [
        ("family-a", "/contents/generations/tasks/{id}"),
        ("family-b", "/tasks/{id}"),
    ] {
        let mut query = json!({
            "method": "GET", "path": path, "cache_ttl": under_way, "final_cache_ttl": when_done,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            query[key] = value.clone();
        }
        config["families"][family] = json!({"query": query});
    }
}
