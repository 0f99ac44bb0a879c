//! Tests of forms that two parsers could read differently, on an endpoint that takes forms only: nothing of them is sent.

use crate::harness::config::{self, channel};
use crate::harness::error_shape::assert_error_body;
use crate::harness::forms::{BOUNDARY, form, written};
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const PATH: &str = "/v1/notes";
const FIELDS: &[(&str, &[u8])] = &[("file!", b"RIFF"), ("engine", b"demo-large")];

/// A declared endpoint whose forms have the model in the field `engine`.
fn serving(simulator: &Simulator) -> Value {
    let mut config = config::standard(&simulator.url());
    config["protocols"] = json!({
        "notes": {"body": "form", "model": "/engine", "medium": "transcript", "retry": "free"}
    });
    // The simulator has no such endpoint: what it received is checked.
    config["channels"] =
        json!({"notes": channel(&simulator.url(), &["notes"], json!({"bearer": "sk-1"}))});
    config["routes"] = json!([{
        "name": "notes", "match": format!("POST {PATH}"), "protocol": "notes",
        "request": ["require_form", "authenticate", {"limit_body": "1MiB"}, "route_model"],
    }]);
    config["models"] = json!({});
    config
}

fn with_body(body: String) -> Request {
    form(PATH, FIELDS).with_body(body.into_bytes())
}

#[tokio::test]
async fn a_model_in_a_field_of_another_name_is_renamed_wherever_it_stands() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator)).await;
    let large = vec![b'\n'; 900 << 10];
    for fields in [
        FIELDS.to_vec(),
        vec![("engine", &b"demo-large"[..]), ("file!", b"RIFF")],
        vec![("file!", &large[..]), ("engine", b"demo-large")],
        vec![
            ("engine", b"demo-large"),
            ("model", b"mine"),
            ("x[y]", b"1"),
            ("x[z]", b"2"),
        ],
    ] {
        let answer = gateway.ask(&form(PATH, &fields)).await;
        // That of the simulator, which received the request.
        assert_eq!(answer.status, 404, "{}", answer.text());
        let renamed = fields.iter().map(|(name, value)| match *name {
            "engine" => ("engine", &b"sim-large-2026-08"[..]),
            name => (name, *value),
        });
        let expected = written(&renamed.collect::<Vec<_>>());
        assert!(simulator.last_body().await == expected);
    }
}

#[tokio::test]
async fn a_form_without_one_plain_model_gets_an_error_that_names_its_field() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator)).await;
    let name: &[u8] = b"demo-large";
    for (fields, param) in [
        (vec![("file!", &b"RIFF"[..])], "engine"),
        (vec![("engine", name), ("engine", name)], "engine"),
        (vec![("engine", name), ("engine[]", name)], "engine[]"),
        (vec![("engine", name), ("engine[0]", b"x")], "engine[0]"),
        (vec![("engine.name", b"x"), ("engine", name)], "engine.name"),
        (vec![("engine", name), ("Engine", b"x")], "Engine"),
        (vec![("Engine", name)], "Engine"),
        (vec![("engine[]", name)], "engine"),
        (vec![("engine!", name)], "engine"),
        (vec![("engine", b"")], "engine"),
        (vec![("engine", b"demo-large\r\n")], "engine"),
        (vec![("engine", b"demo-large\r\n\r\nx")], "engine"),
        (vec![("engine", b"\"demo-large\"")], "engine"),
        (vec![("engine", b"demo-\0large")], "engine"),
        (vec![("engine", b"demo-large\xff")], "engine"),
        (
            vec![("engine", name), ("file!", b"a"), ("file!", b"b")],
            "file",
        ),
    ] {
        let answer = gateway.ask(&form(PATH, &fields)).await;
        assert_error_body(Protocol::Chat, &answer, 400);
        let error = &answer.json()["error"];
        assert_eq!(error["param"], param, "{error}");
    }
    assert!(simulator.records().await.is_empty());
}

#[tokio::test]
async fn a_form_with_a_bad_boundary_or_part_is_refused_at_its_byte() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&serving(&simulator)).await;
    let good = String::from_utf8(written(FIELDS)).unwrap();
    let name = "name=\"engine\"";
    for broken in [
        good.replace("RIFF", &format!("RIFF--{BOUNDARY}")),
        good.replace("RIFF", &format!("RIFF\r\n--{BOUNDARY}x\r\n")),
        good.replace(&format!("--{BOUNDARY}--"), ""),
        good.replace("\r\n", "\n"),
        good.replace(name, "name=engine; name=file"),
        good.replace(name, "name=\"eng\\ine\""),
        good.replace(name, "name*=utf-8''engine"),
        good.replace(
            name,
            &format!("{name}\r\nContent-Transfer-Encoding: base64"),
        ),
        good.replace(
            name,
            &format!("{name}\r\nContent-Type: multipart/mixed; boundary=a"),
        ),
        good.replace(
            name,
            &format!("{name}\r\nContent-Type: text/plain; charset=utf-16"),
        ),
        format!("{good}{good}"),
        String::new(),
    ] {
        let answer = gateway.ask(&with_body(broken.clone())).await;
        let message = assert_error_body(Protocol::Chat, &answer, 400);
        assert!(message.contains("at byte"), "{broken}: {message}");
    }
    for content_type in [
        "multipart/form-data",
        "multipart/form-data; boundary=a; boundary=gate-7f",
        "multipart/form-data; boundary=\"gate 7f\"",
        "application/x-www-form-urlencoded",
        "application/json",
    ] {
        let request = form(PATH, FIELDS).without("content-type");
        let answer = gateway
            .ask(&request.header("Content-Type", content_type))
            .await;
        assert_error_body(Protocol::Chat, &answer, 415);
    }
    assert!(simulator.records().await.is_empty());
}
