//! Tests of forms whose model is in the path, for providers that read it in a field.

use crate::harness::error_shape::assert_error_body;
use crate::harness::forms::{BOUNDARY, form, written};
use crate::harness::images::{self, CHANNEL_MODEL, FIELDS, MODEL, image_config};
use crate::harness::path_models::{deployment, deployments, set_models};
use crate::harness::{Gateway, Simulator};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

#[tokio::test]
async fn a_form_has_the_model_of_the_path_in_its_field() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&deployments(&simulator.url())).await;
    let path = deployment("demo-large", "audio/transcriptions?api-version=1");
    let sound: &[u8] = b"RIFF\r\n--\r\n\x00\xff";
    for named in ["demo-large", "demo-small", "whisper"] {
        let fields = [("file!", sound), ("model", named.as_bytes())];
        let answer = gateway.ask(&form(&path, &fields)).await;
        assert_eq!(answer.status, 200, "{named}: {}", answer.text());
        let sent = [("file!", sound), ("model", b"sim-large-2026-08")];
        assert_eq!(simulator.last_body().await, written(&sent), "{named}");
        assert_eq!(simulator.last().await["path"], "/v1/audio/transcriptions");
    }
    for fields in [
        vec![("file!", sound)],
        vec![("language", &b"en"[..]), ("file!", sound)],
    ] {
        let answer = gateway.ask(&form(&path, &fields)).await;
        assert_eq!(answer.status, 200, "{fields:?}: {}", answer.text());
        let mut sent = fields.clone();
        sent.push(("model", b"sim-large-2026-08"));
        assert_eq!(simulator.last_body().await, written(&sent), "{fields:?}");
        let line = gateway.log_of(&answer).await;
        assert_eq!(line["model"], "demo-large", "{line}");
    }
    let received = simulator.records().await.len();
    for fields in [
        vec![("file!", sound), ("model[0]", &b"demo-large"[..])],
        vec![("file!", sound), ("model.x", b"demo-large")],
        vec![("file!", sound), ("Model", b"demo-large")],
        vec![("file!", sound), ("model", &b""[..])],
        vec![("file!", sound), ("model", b"a\r\nb")],
        vec![("file!", sound), ("model", b"a"), ("model", b"b")],
        vec![("file!", sound), ("model!", b"demo-large")],
    ] {
        let answer = gateway.ask(&form(&path, &fields)).await;
        assert_eq!(answer.status, 400, "{fields:?}: {}", answer.text());
    }
    assert_eq!(simulator.records().await.len(), received);
}

#[tokio::test]
async fn an_edit_of_an_image_needs_no_field_for_the_model_whatever_its_channel_takes() {
    let simulator = Simulator::start().await;
    let fields = FIELDS.iter().copied();
    let fields: Vec<_> = fields.filter(|(name, _)| *name != "model").collect();
    for body in ["unchanged", "json"] {
        let mut config = image_config(&simulator, "", json!({"body": body}));
        config["routes"][0]["match"] =
            json!(format!("POST {}", deployment("{model}", "images/edits")));
        let gateway = Gateway::start(&config).await;
        let path = deployment(MODEL, "images/edits?api-version=1");
        let answer = gateway.ask(&form(&path, &fields)).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
        let received = simulator.last_body().await;
        if body == "json" {
            let received: Value = serde_json::from_slice(&received).unwrap();
            assert_eq!(received["model"], CHANNEL_MODEL);
            continue;
        }
        let mut kept: Vec<_> = fields.clone();
        kept.retain(|(name, _)| *name != "response_format");
        kept.push(("model", CHANNEL_MODEL.as_bytes()));
        assert_eq!(received, images::written(&kept, CHANNEL_MODEL));
    }
}

#[tokio::test]
async fn a_model_that_contains_the_boundary_of_the_form_is_refused() {
    let simulator = Simulator::start().await;
    let mut config = deployments(&simulator.url());
    set_models(&mut config, &json!({"*": "*"}));
    let gateway = Gateway::start(&config).await;
    for fields in [vec![], vec![("model", &b"other"[..])]] {
        let model = format!("--{BOUNDARY}--");
        let path = deployment(&model, "audio/transcriptions");
        let answer = gateway.ask(&form(&path, &fields)).await;
        let message = assert_error_body(Protocol::Chat, &answer, 400);
        assert!(message.contains("boundary"), "{message}");
    }
    assert!(simulator.records().await.is_empty());
}
