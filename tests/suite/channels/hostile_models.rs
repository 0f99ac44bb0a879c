//! Tests of names of models that lead elsewhere in a path: they are refused before anything is sent.

use crate::harness::error_shape::assert_error_body;
use crate::harness::hostile_models::HOSTILE_MODELS;
use crate::harness::vendors::{Vendor, vendors};
use crate::harness::video::{GENERIC, openai_config};
use crate::harness::{Gateway, Request, Simulator, body_of};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The families with the model in a path.
const FAMILIES: [&str; 4] = ["fal", "flux", "replicate", "veo"];

/// A channel for each family that has the hostile names, and one good name, for models of its own.
fn configuration(simulator: &Simulator, vendors: &[Vendor]) -> Value {
    let mut config = openai_config(simulator, "");
    config["channels"] = json!({});
    for vendor in vendors {
        let named = HOSTILE_MODELS.iter().enumerate();
        let named = named.map(|(index, name)| (format!("{}-{index}", vendor.family), *name));
        let mut models: BTreeMap<String, &str> = named.collect();
        models.insert(format!("{}-good", vendor.family), vendor.model);
        config["channels"][vendor.family] = json!({
            "base_url": format!("http://{}/~queue=60m/vendor/{}", simulator.address, vendor.base),
            "protocols": ["video"], "family": vendor.family,
            "credential": vendor.credential.config(), "models": models,
        });
    }
    config
}

#[tokio::test]
async fn no_hostile_name_that_a_caller_chooses_by_a_pattern_is_sent() {
    let simulator = Simulator::start().await;
    let mut vendors = vendors();
    vendors.retain(|vendor| FAMILIES.contains(&vendor.family));
    let mut config = configuration(&simulator, &vendors);
    for vendor in &vendors {
        let channel = &mut config["channels"][vendor.family];
        channel["models"] = json!({format!("{}/*", vendor.family): "*"});
        channel["unpriced"] = json!("allow");
    }
    config["channels"]["deployments"] = json!({
        "base_url": format!("http://{}/d/{{model}}?api-version=1", simulator.address),
        "protocols": ["chat"], "models": {"deployments/*": "*"}, "unpriced": "allow",
    });
    config["routes"].as_array_mut().unwrap().push(json!({
        "name": "chat", "match": "POST /v1/chat/completions", "protocol": "chat",
        "request": [{"use": "body"}, "validate"],
    }));
    let gateway = Gateway::start(&config).await;
    let mut connection = gateway.connect().await;
    for name in HOSTILE_MODELS {
        // No pattern matches a name with control characters.
        let status = if name.contains(char::is_control) {
            404
        } else {
            400
        };
        let mut chat = body_of(Protocol::Chat);
        chat["model"] = json!(format!("deployments/{name}"));
        let answer = connection
            .ask(&Request::to(Protocol::Chat, chat.to_string()))
            .await;
        assert_error_body(Protocol::Chat, &answer, status);
        for vendor in &vendors {
            let mut body = vendor.create.clone();
            body["model"] = json!(format!("{}/{name}", vendor.family));
            let answer = connection
                .ask(&Request::post(GENERIC, body.to_string()))
                .await;
            assert_error_body(Protocol::Video, &answer, status);
        }
    }
    assert!(simulator.records().await.is_empty());
    let mut chat = body_of(Protocol::Chat);
    chat["model"] = json!("deployments/team/gpt-4.1 (eu)");
    connection
        .ask(&Request::to(Protocol::Chat, chat.to_string()))
        .await;
    let sent = simulator.last().await;
    let path = sent["path"].as_str().unwrap();
    assert!(
        path.ends_with("/d/team%2Fgpt-4.1%20%28eu%29/chat/completions?api-version=1"),
        "{path}"
    );
}

#[tokio::test]
async fn no_hostile_name_of_a_model_is_sent_to_a_provider_with_the_model_in_its_path() {
    let simulator = Simulator::start().await;
    let mut vendors = vendors();
    vendors.retain(|vendor| FAMILIES.contains(&vendor.family));
    assert_eq!(vendors.len(), FAMILIES.len());
    let gateway = Gateway::start(&configuration(&simulator, &vendors)).await;
    let mut connection = gateway.connect().await;
    for vendor in &vendors {
        let mut body = vendor.create.clone();
        for (index, name) in HOSTILE_MODELS.iter().enumerate() {
            body["model"] = json!(format!("{}-{index}", vendor.family));
            let request = Request::post(GENERIC, body.to_string());
            let answer = connection.ask(&request).await;
            let message = assert_error_body(Protocol::Video, &answer, 400);
            assert!(message.contains("`model` must not"), "{name:?}: {message}");
        }
        assert!(simulator.records().await.is_empty(), "{}", vendor.family);
    }
    for vendor in &vendors {
        let mut body = vendor.create.clone();
        body["model"] = json!(format!("{}-good", vendor.family));
        let answer = connection
            .ask(&Request::post(GENERIC, body.to_string()))
            .await;
        assert_eq!(answer.status, 200, "{}: {}", vendor.family, answer.text());
    }
    assert_eq!(simulator.records().await.len(), vendors.len());
}
