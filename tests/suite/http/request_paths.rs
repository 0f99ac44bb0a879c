//! Tests of percent-encoded paths: a path parameter is the text of its segment, and every part of the gateway sees one form.

use crate::harness::{Request, TestSetup, TlsTestSetup};
use serde_json::json;

/// Names of models that must be percent-encoded in a path, each with some of its forms.
const NAMES: &[(&str, &[&str])] = &[
    ("中文-模型", &["%E4%B8%AD%E6%96%87-%E6%A8%A1%E5%9E%8B"]),
    (
        "claude[1m]",
        &["claude%5B1m%5D", "claude%5b1m%5d", "claude[1m]"],
    ),
    ("two words", &["two%20words", "%74wo%20words"]),
    ("ns:model", &["ns:model", "ns%3Amodel", "ns%3amodel"]),
    ("org/model", &["org%2Fmodel", "org%2fmodel"]),
    ("half-50%", &["half-50%25"]),
    ("gpt-4.1", &["gpt-4.1", "gpt-4%2E1"]),
    ("a+b", &["a+b", "a%2Bb"]),
];

#[tokio::test]
async fn a_path_parameter_is_the_text_of_its_segment() {
    let world = TestSetup::with(|config| {
        for (name, _) in NAMES {
            config["channels"]["openai"]["models"][*name] = json!("sim");
        }
    })
    .await;
    for (name, forms) in NAMES {
        for form in *forms {
            let path = format!("/v1/models/{form}");
            let answer = world.ask(&Request::get(&path)).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            assert_eq!(answer.json()["id"], *name, "{path}");
        }
    }
    for (path, status) in [
        // `{+id}` takes several segments.
        ("/v1/models/org/model", 200),
        ("/v1/models/org/such", 404),
        ("/v1/models/%E4%B8", 400),
        ("/v1/models/%C0%AF", 400),
        ("/v1/models/%", 400),
        ("/v1/models/%2e%2e", 400),
        ("/v1/models/a%00", 400),
        ("/v1/models/a%0d%0ab", 400),
        ("/v1/models/a%5Cb", 400),
        ("/v1/models/no%2Fsuch", 404),
        ("/v1/models/no%252Fsuch", 404),
    ] {
        let answer = world.ask(&Request::get(path)).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
    }
}

#[tokio::test]
async fn every_form_of_a_path_takes_the_same_route() {
    let world = TlsTestSetup::start().await;
    let connection = world.connect().await;
    for (form, path, status) in [
        ("/v1/models", "/v1/models", 200),
        ("/v1/%6Dodels", "/v1/models", 200),
        ("/%76%31/models", "/v1/models", 200),
        ("/v1/models/demo%2dlarge", "/v1/models/demo-large", 200),
        ("/v1/models/x%5by%5D", "/v1/models/x%5By%5D", 404),
        ("/v1%2Fmodels", "/v1%2Fmodels", 400),
        ("/v1/%2e%2e/v1/models", "/v1/%2e%2e/v1/models", 400),
        ("/v1/%252e%252e/models", "/v1/%252e%252e/models", 400),
    ] {
        let answer = connection.ask(&Request::get(form)).await;
        assert_eq!(answer.status, status, "{form}: {}", answer.text());
        let line = world.gateway.log_of(&answer).await;
        assert_eq!(line["path"], path, "{form}: {line}");
    }
}

#[tokio::test]
async fn a_provider_gets_the_normal_form_and_no_escape_that_it_could_take_for_a_separator() {
    let world = TestSetup::start().await;
    let body = json!({"name": "mine"}).to_string();
    let made = world.ask(&Request::post("/v1/containers", body)).await;
    let id = made.json()["id"].as_str().unwrap().to_string();
    for (file, expected) in [
        ("a%20b", Some("a%20b")),
        ("a[1]", Some("a%5B1%5D")),
        ("%61%3ab", Some("a:b")),
        ("%e4%b8%ad", Some("%E4%B8%AD")),
        ("..%2F..%2Fresponses", None),
        ("a%2Fb", None),
        ("a%252Fb", None),
        ("a%25", None),
    ] {
        let before = world.simulator.records().await.len();
        let path = format!("/v1/containers/{id}/files/{file}/content");
        let answer = world.ask(&Request::get(&path)).await;
        let records = world.simulator.records().await;
        let sent: Vec<_> = records[before..]
            .iter()
            .map(|record| record["path"].as_str().unwrap())
            .collect();
        match expected {
            Some(file) => {
                assert_eq!(sent, [format!("/v1/containers/{id}/files/{file}/content")]);
            }
            None => {
                assert_eq!(answer.status, 400, "{file}: {}", answer.text());
                let text = answer.text();
                assert!(text.contains("percent-encoded slash"), "{file}: {text}");
                assert!(sent.is_empty(), "{file}: {sent:?}");
            }
        }
    }
}
