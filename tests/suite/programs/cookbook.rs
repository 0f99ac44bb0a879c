//! Runs the cookbook: each recipe's `routes.yaml` with the requests of its `cases.yaml`, against the simulated provider.

use crate::harness::gateway::folder_with_schemas;
use crate::harness::service::moderation;
use crate::harness::{Gateway, Request, ScriptedProvider, Simulator, WholeResponse, eventually};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The key that the recipes have for their first caller.
const DEMO_KEY: &str = "sk-demo";

fn recipes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cookbook");
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut recipes: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    recipes.sort();
    recipes
}

fn yaml(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The recipe's configuration, with the simulator as the provider of every channel, and `service` as every service.
fn runnable(mut config: Value, simulator: &Simulator, service: &ScriptedProvider) -> Value {
    config["server"] = json!({"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "workers": 2});
    config["state"] = json!("memory");
    let services = config.get_mut("services").and_then(Value::as_object_mut);
    for payload in services.into_iter().flat_map(Map::values_mut) {
        payload["url"] = format!("http://{}/check", service.address).into();
        payload["headers"] = json!({});
    }
    for channel in config["channels"].as_object_mut().unwrap().values_mut() {
        channel["base_url"] = simulator.url().into();
        channel["credential"] = json!({"bearer": "sk-of-the-channel"});
    }
    config
}

fn request(case: &Value) -> Request {
    let request = &case["request"];
    let path = request["path"].as_str().expect("a case has a path");
    let method = request["method"].as_str();
    let built = match &request["body"] {
        Value::Null => Request::new(method.unwrap_or("GET"), path),
        body => Request::post(path, body.to_string()),
    };
    let built = built.key(request["key"].as_str().unwrap_or(DEMO_KEY));
    let headers = request["headers"].as_object().into_iter().flatten();
    headers.fold(built, |built, (name, value)| {
        built.header(name, value.as_str().unwrap())
    })
}

/// Compares a response and what the provider received with the expected result.
async fn check(case: &Value, response: &WholeResponse, simulator: &Simulator, seen: usize) {
    let (title, result) = (&case["title"], &case["result"]);
    let text = response.text();
    let statuses = match &result["status"] {
        Value::Array(statuses) => statuses.clone(),
        status => vec![status.clone()],
    };
    assert!(
        statuses.contains(&json!(response.status)),
        "{title}: {} {text}",
        response.status
    );
    for (name, value) in result["headers"].as_object().into_iter().flatten() {
        assert_eq!(
            response.headers.get(name),
            value.as_str(),
            "{title}: {name}"
        );
    }
    for part in result["contains"].as_array().into_iter().flatten() {
        assert!(text.contains(part.as_str().unwrap()), "{title}: {text}");
    }
    for part in result["lacks"].as_array().into_iter().flatten() {
        assert!(!text.contains(part.as_str().unwrap()), "{title}: {text}");
    }
    let records = simulator.records().await;
    match &result["provider"] {
        Value::Null => {}
        Value::String(nothing) if nothing == "nothing" => {
            assert_eq!(
                records.len(),
                seen,
                "{title}: the provider received a request"
            );
        }
        provider => {
            if let Some(models) = provider["copies"].as_array() {
                return wait_for_copies(title, simulator, &records[seen..], models).await;
            }
            let record = records
                .last()
                .unwrap_or_else(|| panic!("{title}: nothing received"));
            if let Some(path) = provider["path"].as_str() {
                assert_eq!(record["path"], path, "{title}");
            }
            for (name, value) in provider["headers"].as_object().into_iter().flatten() {
                assert_eq!(&record["headers"][name], value, "{title}: {name}");
            }
            let body: Value =
                serde_json::from_slice(&simulator.last_body().await).unwrap_or_default();
            for (pointer, value) in provider["body"].as_object().into_iter().flatten() {
                let found = body.pointer(pointer).unwrap_or(&Value::Null);
                assert_eq!(found, value, "{title}: {pointer} of {body}");
            }
        }
    }
}

/// Waits until the provider has a request for each of these models since the case began.
async fn wait_for_copies(title: &Value, simulator: &Simulator, first: &[Value], models: &[Value]) {
    let begin = first
        .first()
        .map_or(0, |record| record["n"].as_u64().unwrap_or(0));
    let received = async || {
        let mut found = Vec::new();
        for record in simulator.records().await {
            if record["n"].as_u64().unwrap_or(0) >= begin {
                let body: Value =
                    serde_json::from_slice(&simulator.body(&record["n"]).await).unwrap_or_default();
                found.push(body["model"].clone());
            }
        }
        models
            .iter()
            .all(|model| found.contains(model))
            .then_some(())
    };
    eventually(title.as_str().unwrap_or_default(), received).await;
}

#[tokio::test]
async fn every_recipe_does_what_its_cases_have() {
    let recipes = recipes();
    assert!(recipes.len() >= 20, "{recipes:?}");
    for recipe in recipes {
        let simulator = Simulator::start().await;
        let service = moderation().await;
        let config = runnable(yaml(&recipe.join("routes.yaml")), &simulator, &service);
        let gateway = Gateway::start_in(folder_with_schemas(), &config.to_string()).await;
        let cases = yaml(&recipe.join("cases.yaml"));
        let cases = cases.as_array().expect("cases are a list");
        assert!(
            cases.len() > 1,
            "{}: a recipe shows what it does and what it leaves",
            recipe.display()
        );
        for case in cases {
            let seen = simulator.records().await.len();
            let response = gateway.ask(&request(case)).await;
            check(case, &response, &simulator, seen).await;
        }
    }
}
