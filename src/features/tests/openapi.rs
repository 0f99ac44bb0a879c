//! Tests of documents, on the repository's routes.yaml.

use crate::features::FEATURES;
use headgate_admin::openapi::{ApiServers, document};
use headgate_config::snapshot;
use headgate_config::snapshot::CrossSnapshotState;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

fn demo_document() -> Value {
    document_for("routes.yaml", |name| name == "HEADGATE_TASK_KEY")
}

/// The document of a file of the repository, whose variables are those that `is_set` accepts.
fn document_for(file: &str, is_set: fn(&str) -> bool) -> Value {
    let state = CrossSnapshotState {
        variables: Arc::new(move |name: &str| is_set(name).then(|| "0".repeat(64))),
        ..CrossSnapshotState::new(FEATURES)
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let snapshot = snapshot::build(&file, &state).unwrap().snapshot;
    let servers = ApiServers::from_listeners(("gate:80", false), ("gate:9091", true));
    document(&snapshot, &servers, &[])
}

/// All values below a value, with their own pointers.
fn each<'a>(value: &'a Value, visit: &mut impl FnMut(&'a Value)) {
    visit(value);
    match value {
        Value::Object(members) => members.values().for_each(|value| each(value, visit)),
        Value::Array(items) => items.iter().for_each(|item| each(item, visit)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_has_its_own_id() {
    let document = demo_document();
    let (mut references, mut ids) = (0, Vec::new());
    each(&document, &mut |value| {
        if let Some(target) = value["$ref"].as_str() {
            references += 1;
            let found = document.pointer(target.trim_start_matches('#'));
            assert!(target.starts_with("#/") && found.is_some(), "{target}");
        }
        ids.extend(value["operationId"].as_str());
    });
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert!(
        references > 500 && ids.len() == count,
        "{references} {count}"
    );
}

#[test]
fn a_route_has_the_schema_that_it_validates_by_its_errors_and_its_security() {
    let document = demo_document();
    let chat = &document["paths"]["/v1/chat/completions"]["post"];
    let schema =
        |operation: &Value, kind: &str| operation["requestBody"]["content"][kind]["schema"].clone();
    let reference =
        |name: &str| serde_json::json!({"$ref": format!("#/components/schemas/{name}")});
    assert_eq!(schema(chat, "application/json"), reference("chat.request"));
    assert!(chat["responses"]["200"]["content"]["text/event-stream"].is_object());
    assert_eq!(
        chat["responses"]["401"]["$ref"],
        "#/components/responses/Error401"
    );
    assert_eq!(chat["security"], serde_json::json!([{"bearer": []}]));
    let count = &document["paths"]["/v1/messages/count_tokens"]["post"];
    assert_eq!(
        schema(count, "application/json"),
        reference("count_tokens.request")
    );
    assert_eq!(count["parameters"][0]["name"], "anthropic-version");
    assert!(count["responses"]["529"].is_object() && count["responses"]["503"].is_null());
    let create = &document["paths"]["/v1/video/generations"]["post"];
    assert_eq!(create["parameters"][0]["name"], "Idempotency-Key");
    assert!(create["responses"]["422"].is_object() && chat["responses"]["422"].is_null());
    let media = &document["paths"]["/_headgate/media/{token}"]["get"];
    assert_eq!(media["security"], serde_json::json!([]));
    assert!(media["responses"]["502"].is_null());
}

#[test]
fn a_route_with_the_model_in_its_path_has_it_as_parameter_and_the_headers_of_its_keys() {
    let document = document_for("tests/fixtures/filters/authenticate.yaml", |_| true);
    let path = "/openai/deployments/{model}/messages";
    let create = &document["paths"][path]["post"];
    assert_eq!(create["parameters"][0]["name"], "model");
    assert!(create["parameters"][0]["description"].is_string());
    assert_eq!(
        create["security"],
        serde_json::json!([{"bearer": []}, {"api_key": []}, {"azure_api_key": []}])
    );
    let schemes = &document["components"]["securitySchemes"];
    assert_eq!(schemes["azure_api_key"]["name"], "api-key");
}

#[test]
fn a_route_has_the_statuses_and_contents_that_callers_get() {
    let document = demo_document();
    let operation = |path: &str, method: &str| &document["paths"][path][method];
    let list = &operation("/v1/video/generations", "get")["responses"];
    assert!(list["404"].is_object() && list["200"].is_null() && list["4XX"].is_null());
    let count = operation("/v1/responses/input_tokens", "post");
    assert!(count["responses"]["415"].is_object() && count["responses"]["4XX"].is_object());
    assert_eq!(count["requestBody"]["required"], true);
    let content = operation("/v1/files/{id}/content", "get");
    assert!(content["responses"]["200"]["content"]["*/*"].is_object());
    let video = &operation("/v1/videos/{id}/content", "get")["responses"];
    assert!(video["206"].is_object() && video["416"].is_object());
    // The provider decides what it takes.
    let upload = &operation("/v1/uploads", "post")["requestBody"]["content"]["application/json"];
    assert_eq!(upload["schema"], serde_json::json!({}));
}

#[test]
fn errors_of_a_route_without_a_protocol_have_the_format_that_the_headers_show() {
    let document = demo_document();
    let models = &document["paths"]["/v1/models"]["get"]["responses"];
    assert_eq!(
        models["401"]["$ref"],
        "#/components/responses/DetectedError401"
    );
    assert!(models["503"].is_object() && models["529"].is_object());
    let schemas = &document["components"]["schemas"];
    let formats = schemas["DetectedError"]["anyOf"].as_array().unwrap();
    let names: Vec<_> = formats
        .iter()
        .filter_map(|schema| schema["$ref"].as_str()?.rsplit('/').next())
        .collect();
    assert_eq!(names, ["Error", "MessagesError", "GoogleError"]);
}

#[test]
fn parameters_of_paths_have_no_control_characters_and_versions_are_dates() {
    let document = demo_document();
    let id = &document["paths"]["/v1/models/{id}"]["get"]["parameters"][0]["schema"];
    assert_eq!(id["pattern"], r"^[^\u0000-\u001f\u007f-\u009f\\]+$");
    let messages = &document["paths"]["/v1/messages"]["post"]["parameters"][0]["schema"];
    let pattern = messages["pattern"].as_str().unwrap();
    let pattern = regex::Regex::new(pattern).unwrap();
    assert!(pattern.is_match("2023-06-01") && !pattern.is_match("2023-13-01"));
}

#[test]
fn schemas_have_no_members_that_only_the_gateway_reads() {
    let document = demo_document();
    each(&document["components"]["schemas"], &mut |value| {
        for member in ["$id", "$schema", "errorMessage", "$defs"] {
            assert!(!value[member].is_string(), "{member}");
        }
    });
    assert!(document["components"]["schemas"]["chat.message"].is_object());
}
