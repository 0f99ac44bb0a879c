//! Tests of `headgate explain` on requests that channels of other protocols serve.

use super::config_for;
use crate::harness::config::{self, route};
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::process::BINARY;
use serde_json::{Value, json};
use std::process::{Command, Output};

const MESSAGES: &str = "/v1/messages";

fn explain(config: &Value, body: &Value, args: &[&str]) -> (Output, String) {
    let folder: Folder = folder_with_schemas();
    let file = folder.write("routes.yaml", config.to_string());
    let output = Command::new(BINARY)
        .args(["explain", MESSAGES, "-d", &body.to_string(), "--config"])
        .arg(file)
        .args(args)
        .output()
        .unwrap();
    let texts = [&*output.stdout, &*output.stderr].concat();
    (output, String::from_utf8(texts).unwrap())
}

fn messages_on_chat() -> Value {
    config_for("messages", "chat", "http://127.0.0.1:9")
}

fn request(more: Value) -> Value {
    let mut body = json!({"model": "demo-large", "max_tokens": 9, "metadata": {"user_id": "u"},
        "messages": [{"role": "user", "content": "Hello"}]});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

#[test]
fn each_member_of_a_request_has_a_line_and_the_body_is_the_translated_one() {
    let (output, text) = explain(
        &messages_on_chat(),
        &request(json!({"speed": "fast"})),
        &["--body"],
    );
    assert!(output.status.success(), "{text}");
    for line in [
        "   protocol messages->chat\n",
        "   member   =  max_tokens\n",
        "   member   ×  speed ",
        "   member   =  messages[0].content\n",
        "   url      http://127.0.0.1:9/chat/completions\n",
        "\"role\":\"user\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains(config::CREDENTIALS[0]), "{text}");
}

#[test]
fn a_refused_request_names_the_member_and_the_way_out() {
    let search = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]});
    let (output, text) = explain(&messages_on_chat(), &request(search.clone()), &[]);
    assert!(!output.status.success(), "{text}");
    for line in [
        "   member   !  tools[0] has the type `web_search_20250305`",
        "   refused  `tools[0]` has the type",
        "on_loss: drop",
        "verdict   refused with 400",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let mut config = messages_on_chat();
    route(&mut config, "messages")["on_loss"] = json!("drop");
    let (output, text) = explain(&config, &request(search), &[]);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("   member   !  tools[0] has the type"),
        "{text}"
    );
}

#[test]
fn a_translation_that_refuses_is_no_refusal_where_another_channel_comes_first() {
    let mut config = messages_on_chat();
    let own = json!({"api_key": config::CREDENTIALS[1]});
    config["channels"]["own"] = config::channel("http://127.0.0.1:9", &["messages"], own);
    let search = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]});
    let (output, text) = explain(&config, &request(search.clone()), &[]);
    assert!(output.status.success(), "{text}");
    let own = text.find("1. own (").expect("a channel");
    let other = text.find("2. other (").expect("a channel");
    assert!(
        own < other && text.contains("   refused  `tools[0]`"),
        "{text}"
    );

    let (output, text) = explain(&config, &request(search.clone()), &["--channel", "own"]);
    assert!(output.status.success(), "{text}");
    assert!(
        text.contains("1. own (") && !text.contains("2. other ("),
        "{text}"
    );
    let (output, text) = explain(&config, &request(search), &["--channel", "othre"]);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("did you mean `other`?"), "{text}");
}
