//! `headgate convert`: converted files are valid, and gateways with them serve what the other gateway served.

use super::changed_pair::{CommandEnd, run};
use crate::harness::batches::{create, id_in, line, upload_lines};
use crate::harness::config::sha256;
use crate::harness::folder::Folder;
use crate::harness::forms::form;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::request::ANN;
use crate::harness::{Gateway, Request, Simulator};
use serde_json::{Value, json};

const SECRETS: [&str; 3] = [
    "sk-canary-first-account",
    "sk-canary-second-account",
    "sk-canary-third-account",
];

fn fixture(name: &str) -> String {
    format!(
        "{}/tests/fixtures/convert/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

fn convert(format: &str, file: &str) -> CommandEnd {
    run(&["convert", format, file])
}

/// A gateway with a converted file, in which variables have values.
async fn gateway_with(converted: &str, values: &[(&str, &str)]) -> Gateway {
    let digest = sha256(ANN.as_bytes());
    let mut text =
        "server: {listen: \"127.0.0.1:0\", admin: \"127.0.0.1:0\"}\nstate: memory\n".to_owned();
    text.push_str(converted);
    for digest_of in [
        "CONVERT_MASTER_KEY_SHA256",
        "LITELLM_MASTER_KEY_SHA256",
        "CALLER_KEY_SHA256",
    ] {
        text = text.replace(&format!("${{{digest_of}}}"), &digest);
    }
    for (variable, value) in values {
        text = text.replace(variable, value);
    }
    Gateway::start_in(folder_with_schemas(), &text).await
}

/// Path, authorization and model of each request that the simulator got for this model of a caller.
async fn sent(
    gateway: &Gateway,
    simulator: &Simulator,
    model: &str,
) -> (u16, Vec<(String, String, String)>) {
    let before = simulator.records().await.len();
    let body = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
    let response = gateway
        .ask(&Request::post("/v1/chat/completions", body.to_string()))
        .await;
    let mut sent = Vec::new();
    for record in simulator.records().await.into_iter().skip(before) {
        let body: Value = serde_json::from_slice(&simulator.body(&record["n"]).await).unwrap();
        sent.push((
            record["path"].as_str().unwrap().to_owned(),
            record["headers"]["authorization"]
                .as_str()
                .unwrap()
                .to_owned(),
            body["model"].as_str().unwrap().to_owned(),
        ));
    }
    (response.status, sent)
}

fn expected(directives: &str, key: &str, model: &str) -> (String, String, String) {
    let path = format!("{directives}/v1/chat/completions");
    (path, format!("Bearer {key}"), model.to_owned())
}

#[tokio::test]
async fn a_litellm_config_with_orders_and_an_alias_serves_the_same() {
    let simulator = Simulator::start().await;
    let end = convert("litellm", &fixture("litellm_shared.yaml"));
    assert_eq!(end.code, 0, "{}", end.stderr);
    assert!(
        end.stderr
            .contains("all: 21 of 21 settings have a counterpart (100 %)"),
        "{}",
        end.stderr
    );
    assert!(!end.stdout.contains("sk-literal"), "{}", end.stdout);
    let failing = simulator.url_obeying("status=503");
    let values = [
        ("${CONVERT_FIRST_BASE}", failing.as_str()),
        ("${CONVERT_SECOND_BASE}", &simulator.url()),
        ("${CONVERT_FIRST_KEY}", SECRETS[0]),
        ("${HOSTED_VLLM_API_KEY}", SECRETS[1]),
    ];
    let gateway = gateway_with(&end.stdout, &values).await;
    let (status, attempts) = sent(&gateway, &simulator, "large").await;
    assert_eq!(status, 200);
    assert_eq!(
        attempts,
        [
            expected("/~status=503", SECRETS[0], "sim-large-2026-08"),
            expected("", SECRETS[1], "sim-small-2026-08"),
        ]
    );
    for model in ["little", "say \"small\" #1"] {
        let (status, attempts) = sent(&gateway, &simulator, model).await;
        assert_eq!(status, 503, "{model}");
        assert_eq!(
            attempts[0],
            expected("/~status=503", SECRETS[0], "sim-small-2026-08")
        );
    }
}

#[tokio::test]
async fn fallbacks_of_a_litellm_config_are_used_in_their_order() {
    let simulator = Simulator::start().await;
    let end = convert("litellm", &fixture("litellm_fallbacks.yaml"));
    assert_eq!(end.code, 1, "{}", end.stderr);
    for words in [
        "litellm_settings: 3 of 3 settings have a counterpart (100 %)",
        "model_list: 12 of 15 settings have a counterpart (80 %)",
    ] {
        assert!(end.stderr.contains(words), "{}", end.stderr);
    }
    let words = "no counterpart: model_list[3]\n";
    assert!(end.stdout.contains(words), "{}", end.stdout);
    assert!(!end.stdout.contains("sk-literal"), "{}", end.stdout);
    let values = [
        ("${CONVERT_FIRST_BASE}", simulator.url_obeying("status=503")),
        (
            "${CONVERT_SECOND_BASE}",
            simulator.url_obeying("status=500"),
        ),
        ("${CONVERT_THIRD_BASE}", simulator.url()),
        ("${CONVERT_FIRST_KEY}", SECRETS[0].to_owned()),
        ("${CONVERT_SECOND_KEY}", SECRETS[1].to_owned()),
        ("${CONVERT_THIRD_KEY}", SECRETS[2].to_owned()),
    ];
    let values = values
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    let gateway = gateway_with(&end.stdout, &values).await;
    let (status, attempts) = sent(&gateway, &simulator, "large").await;
    assert_eq!(status, 200);
    assert_eq!(
        attempts,
        [
            expected("/~status=503", SECRETS[0], "sim-large-2026-08"),
            expected("/~status=500", SECRETS[1], "sim-middle-2026-08"),
            expected("", SECRETS[2], "sim-small-2026-08"),
        ]
    );
}

#[tokio::test]
async fn a_litellm_config_with_tags_and_defaults_sends_the_same_bodies() {
    let simulator = Simulator::start().await;
    let end = convert("litellm", &fixture("litellm_bodies.yaml"));
    assert_eq!(end.code, 0, "{}", end.stderr);
    let url = simulator.url();
    let values = [
        ("${CONVERT_FIRST_BASE}", url.as_str()),
        ("${CONVERT_FIRST_KEY}", SECRETS[0]),
        ("${CONVERT_SECOND_KEY}", SECRETS[1]),
    ];
    let gateway = gateway_with(&end.stdout, &values).await;
    let large = json!({"model": "large", "user": "u", "seed": 1,
        "messages": [{"role": "user", "content": "Hello"}]});
    let green = ("sim-other-2026-05", Some("u"), Value::Null);
    for (tags, (model, user, temperature)) in [
        (Some("red, blue"), ("sim-large-2026-08", None, json!(0.5))),
        (Some("green"), green.clone()),
        (None, green),
    ] {
        let mut request = Request::post("/v1/chat/completions", large.to_string());
        if let Some(tags) = tags {
            request = request.header("x-litellm-tags", tags);
        }
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{tags:?} {}", response.text());
        let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        assert_eq!(sent["model"], model, "{tags:?}");
        assert_eq!(sent["user"].as_str(), user, "{tags:?} {sent}");
        assert_eq!(sent["temperature"], temperature, "{tags:?} {sent}");
    }
    let vectors = json!({"model": "vectors", "input": "a gate"});
    let request = Request::post("/embeddings", vectors.to_string());
    let response = gateway.ask(&request).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let mut tagged = large;
    tagged["metadata"] = json!({"tags": ["blue"]});
    let request = Request::post("/v1/chat/completions", tagged.to_string());
    assert_eq!(gateway.ask(&request).await.status, 400);
}

/// A gateway with the rules about tools, the router and the account for files of the fixture.
async fn guarded_gateway(simulator: &Simulator) -> Gateway {
    let end = convert("litellm", &fixture("litellm_guards.yaml"));
    assert_eq!(end.code, 0, "{}", end.stderr);
    let url = simulator.url();
    let values = [
        ("${CONVERT_FIRST_BASE}", url.as_str()),
        ("${CONVERT_FIRST_KEY}", SECRETS[0]),
    ];
    gateway_with(&end.stdout, &values).await
}

#[tokio::test]
async fn rules_about_tools_of_a_litellm_config_refuse_and_remove_them() {
    let simulator = Simulator::start().await;
    let gateway = guarded_gateway(&simulator).await;
    let tools = |names: &[&str]| {
        let tools = names
            .iter()
            .map(|name| json!({"type": "function", "function": {"name": name}}));
        json!(tools.collect::<Vec<_>>())
    };
    for (offered, guardrails, status, sent) in [
        (
            tools(&["Bash", "mcp__a"]),
            Value::Null,
            200,
            tools(&["Bash", "mcp__a"]),
        ),
        (Value::Null, Value::Null, 200, Value::Null),
        (tools(&["Bash", "Read"]), Value::Null, 400, Value::Null),
        (tools(&["xmcp__a"]), Value::Null, 400, Value::Null),
        (
            tools(&["Bash", "mcp__a"]),
            json!(["no-bash"]),
            200,
            tools(&["mcp__a"]),
        ),
        (tools(&["Bash"]), json!(["no-bash"]), 200, Value::Null),
    ] {
        let mut body =
            json!({"model": "large", "messages": [{"role": "user", "content": "Hello"}]});
        for (key, value) in [("tools", &offered), ("guardrails", &guardrails)] {
            if !value.is_null() {
                body[key] = value.clone();
            }
        }
        let request = Request::post("/v1/chat/completions", body.to_string());
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, status, "{body} {}", response.text());
        if status == 400 {
            let message = response.json()["error"]["message"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(message.ends_with(" is against our policy"), "{message}");
            assert!(!message.starts_with("Bash"), "{message}");
            continue;
        }
        let received: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        assert_eq!(received["tools"], sent, "{body} {received}");
        assert_eq!(received["guardrails"], Value::Null, "{received}");
    }
}

#[tokio::test]
async fn a_router_of_a_litellm_config_selects_models_of_the_tier_that_a_request_wants() {
    let simulator = Simulator::start().await;
    let gateway = guarded_gateway(&simulator).await;
    let body = json!({"model": "router", "messages": [{"role": "user", "content": "Hello"}]});
    let mut models = Vec::new();
    for tier in [
        "2", "3", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "",
    ] {
        let request = Request::post("/v1/chat/completions", body.to_string());
        let request = match tier {
            "" => request,
            tier => request.header("x-litellm-min-quality-tier", tier),
        };
        let response = gateway.ask(&request).await;
        assert_eq!(response.status, 200, "{}", response.text());
        assert_eq!(response.json()["model"], "router");
        let sent: Value = serde_json::from_slice(&simulator.last_body().await).unwrap();
        models.push(sent["model"].as_str().unwrap().to_owned());
    }
    assert_eq!(models[..2], ["sim-large-2026-08", "sim-large-2026-08"]);
    for model in ["sim-large-2026-08", "sim-small-2026-08"] {
        assert!(models[2..].iter().any(|sent| sent == model), "{models:?}");
    }
}

#[tokio::test]
async fn sound_files_and_batches_of_a_litellm_config_reach_their_account() {
    let simulator = Simulator::start().await;
    let gateway = guarded_gateway(&simulator).await;
    let sound = form(
        "/audio/transcriptions",
        &[("model", b"ears"), ("file!", b"sound")],
    );
    let response = gateway.ask(&sound).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let file = upload_lines(&gateway, &[line("a", "large"), line("b", "small")]).await;
    let batch = id_in(&gateway.ask(&create(&file)).await);
    for path in [format!("/v1/batches/{batch}"), format!("/files/{file}")] {
        let response = gateway.ask(&Request::get(&path)).await;
        assert_eq!(response.status, 200, "{path} {}", response.text());
    }
    let records = simulator.records().await;
    let authorization = format!("Bearer {}", SECRETS[0]);
    for record in records
        .iter()
        .filter(|record| record["endpoint"] != "models")
    {
        assert_eq!(
            record["headers"]["authorization"], authorization,
            "{record}"
        );
    }
}

#[tokio::test]
async fn channels_of_new_api_serve_the_same() {
    let simulator = Simulator::start().await;
    let end = convert("new-api", &fixture("new_api.json"));
    assert_eq!(end.code, 1, "{}", end.stderr);
    assert!(!end.stdout.contains("sk-literal"), "{}", end.stdout);
    for words in [
        "no counterpart: channels[1].group\n",
        "no counterpart: channels[2]\n",
        "x-team: \"a$$b\"",
    ] {
        assert!(end.stdout.contains(words), "{}", end.stdout);
    }
    let failing = format!("{}/~status=503", simulator.address);
    let working = simulator.address.to_string();
    let values = [
        ("CONVERT_FIRST", failing.as_str()),
        ("CONVERT_SECOND", &working),
        ("${MAIN_ACCOUNT_1_API_KEY}", SECRETS[0]),
        ("${MAIN_ACCOUNT_1_API_KEY_2}", SECRETS[1]),
        ("${RESERVE_API_KEY}", SECRETS[2]),
    ];
    let gateway = gateway_with(&end.stdout, &values).await;
    let (status, attempts) = sent(&gateway, &simulator, "large").await;
    assert_eq!(status, 200);
    let (last, first) = attempts.split_last().unwrap();
    assert_eq!(*last, expected("", SECRETS[2], "sim-other-2026-05"));
    for (path, key, model) in first {
        assert_eq!(
            (path.as_str(), model.as_str()),
            ("/~status=503/v1/chat/completions", "sim-large-2026-08")
        );
        assert!(
            SECRETS[..2].iter().any(|secret| key.ends_with(secret)),
            "{key}"
        );
    }
    assert!(!first.is_empty());
}

#[test]
fn what_cannot_be_read_or_written_ends_with_2() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| folder.write(name, text).to_str().unwrap().to_owned();
    let missing = folder.path().join("missing").to_str().unwrap().to_owned();
    let existing = write("routes.yaml", "channels: {}\n");
    let shared = fixture("litellm_shared.yaml");
    for (args, words) in [
        (vec!["litellm", &missing], "cannot read"),
        (vec!["litellm", &write("a", "a: [")], "invalid YAML"),
        (
            vec!["litellm", &write("b", "routes: []")],
            "has a list `model_list`",
        ),
        (vec!["new-api", &write("c", "{")], "invalid JSON"),
        (
            vec!["new-api", &write("d", "{\"data\": 1}")],
            "expected the response of GET /api/channel/",
        ),
        (
            vec!["litellm", &shared, "--output", &existing],
            "cannot write",
        ),
        (vec!["envoy", &shared], "invalid value"),
    ] {
        let end = run(&[&["convert"], args.as_slice()].concat());
        assert_eq!(end.code, 2, "{args:?}: {}", end.stdout);
        assert!(end.stderr.contains(words), "{args:?}: {}", end.stderr);
    }
    assert_eq!(std::fs::read_to_string(existing).unwrap(), "channels: {}\n");
}
