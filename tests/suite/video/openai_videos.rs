//! End-to-end tests of OpenAI's video API over models of both families.

use crate::harness::error_shape::assert_error_body;
use crate::harness::folder::Folder;
use crate::harness::images::{PNG, written};
use crate::harness::paid::lock_state_file;
use crate::harness::request::BOB;
use crate::harness::video::{
    FAMILY_A, FAMILY_B, GENERIC, OPENAI, ask, cancel, create, id_of, openai_config, operations,
};
use crate::harness::{Gateway, Request, Simulator, WholeResponse, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

const MODELS: [&str; 2] = ["demo-video-a", "demo-video-b"];

pub(super) async fn start(directives: &str) -> (Simulator, Gateway) {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&openai_config(&simulator, directives)).await;
    (simulator, gateway)
}

pub(super) async fn create_video(gateway: &Gateway, body: &Value) -> WholeResponse {
    let request = Request::post(OPENAI, body.to_string());
    gateway.ask(&request).await
}

pub(super) fn form_create(fields: &[(&str, &[u8])]) -> Request {
    Request::post(OPENAI, written(fields, "-"))
        .without("content-type")
        .header("Content-Type", "multipart/form-data; boundary=gate-7f")
}

/// The id of a video that was created.
pub(super) fn video_id(created: &WholeResponse) -> String {
    assert_eq!(created.status, 200, "{}", created.text());
    created.json()["id"].as_str().unwrap().to_owned()
}

pub(super) async fn completed(gateway: &Gateway, path: &str, id: &str) -> Value {
    eventually("the video", async || {
        let polled = ask(gateway, path, id).await;
        assert_eq!(polled.status, 200, "{path}: {}", polled.text());
        let text = polled.text().to_lowercase();
        let has_ended = text.contains("\"completed\"") || text.contains("\"succeeded\"");
        has_ended.then(|| polled.json())
    })
    .await
}

#[tokio::test]
async fn a_video_is_made_polled_and_completed_with_models_of_every_family() {
    let (simulator, gateway) = start("queue=50ms;run=50ms").await;
    for model in MODELS {
        let body = json!({"model": model, "prompt": "a gate", "seconds": "5", "size": "1280x720"});
        let created = create_video(&gateway, &body).await;
        let id = video_id(&created);
        let object = created.json();
        for (member, expected) in [
            ("object", json!("video")),
            ("model", json!(model)),
            ("status", json!("queued")),
            ("progress", json!(0)),
            ("seconds", json!("5")),
            ("size", json!("1280x720")),
            ("error", Value::Null),
            ("completed_at", Value::Null),
        ] {
            assert_eq!(object[member], expected, "{model} {member}: {object}");
        }
        assert!(object["created_at"].as_u64().unwrap() < 10_000_000_000);
        let sent: Value = serde_json::from_slice(&simulator.last_create_body().await).unwrap();
        let (duration, resolution, ratio) = match model {
            "demo-video-a" => ("/duration", "/resolution", "/ratio"),
            _ => (
                "/parameters/duration",
                "/parameters/resolution",
                "/parameters/ratio",
            ),
        };
        assert_eq!(sent.pointer(duration), Some(&json!(5)), "{sent}");
        assert_eq!(sent.pointer(ratio), Some(&json!("16:9")), "{sent}");
        let tier = sent.pointer(resolution).and_then(Value::as_str).unwrap();
        assert_eq!(tier.to_lowercase(), "720p");
        let done = completed(&gateway, OPENAI, &id).await;
        assert_eq!((&done["id"], &done["progress"]), (&json!(id), &json!(100)));
        assert_eq!(
            (&done["seconds"], &done["size"]),
            (&json!("5"), &json!("1280x720"))
        );
        assert!(done["completed_at"].is_u64(), "{done}");
        assert!(!done.to_string().contains("upstream-"), "{done}");
    }
}

#[tokio::test]
async fn a_task_is_polled_in_every_format_whichever_created_it() {
    let (_simulator, gateway) = start("queue=0ms;run=0ms").await;
    for (model, native) in [("demo-video-a", FAMILY_A), ("demo-video-b", FAMILY_B)] {
        let created = create_video(&gateway, &json!({"model": model, "prompt": "a gate"})).await;
        let from_openai = video_id(&created);
        let mut ids = vec![from_openai];
        for path in [GENERIC, native] {
            ids.push(id_of(path, &create(&gateway, path, model).await));
        }
        for id in ids {
            for path in [OPENAI, GENERIC, native] {
                let done = completed(&gateway, path, &id).await;
                assert!(done.to_string().contains(&id), "{path}: {done}");
                if path == OPENAI {
                    assert_eq!(done["status"], "completed");
                    let size = done["size"].as_str().unwrap();
                    assert!(size.contains('x'), "{done}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_form_with_a_file_or_a_url_is_the_same_as_json() {
    let (simulator, gateway) = start("").await;
    let fields: [(&str, &[u8]); 3] = [
        ("model", b"demo-video-a"),
        ("prompt", b"a gate"),
        ("seconds", b"5"),
    ];
    let image =
        |value| json!({"type": "image_url", "role": "first_frame", "image_url": {"url": value}});
    let url = "https://x.example/a.png";
    let data_uri = format!("data:image/png;base64,{}", base64(PNG));
    let mut file = fields.to_vec();
    file.push(("input_reference!", PNG));
    let mut nested = fields.to_vec();
    nested.push(("input_reference[image_url]", url.as_bytes()));
    let json = json!({
        "model": "demo-video-a", "prompt": "a gate", "seconds": 5, "input_reference": {"image_url": url},
    });
    for (request, expected) in [
        (form_create(&file), image(&data_uri)),
        (form_create(&nested), image(&url.to_owned())),
        (
            Request::post(OPENAI, json.to_string()),
            image(&url.to_owned()),
        ),
    ] {
        video_id(&gateway.ask(&request).await);
        let last = simulator.last().await;
        let sent: Value = serde_json::from_slice(&simulator.last_create_body().await).unwrap();
        assert_eq!(sent["content"][1], expected);
        assert_eq!(sent["duration"], 5);
        assert_eq!(
            last["headers"]["content-type"],
            json!("application/json"),
            "{last}"
        );
    }
}

fn base64(content: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(content)
}

#[tokio::test]
async fn the_response_about_an_unfinished_video_has_the_time_of_the_next_poll() {
    let (_simulator, gateway) = start("queue=0ms;run=60m").await;
    let created = create_video(&gateway, &json!({"model": MODELS[0], "prompt": "a gate"})).await;
    let polled = ask(&gateway, OPENAI, &video_id(&created)).await;
    assert_eq!(polled.json()["status"], "in_progress");
    let seconds = polled.headers.get("retry-after").unwrap();
    let milliseconds: u64 = polled
        .headers
        .get("openai-poll-after-ms")
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(milliseconds.div_ceil(1_000).to_string(), seconds);
}

#[tokio::test]
async fn a_task_without_a_video_is_failed_with_its_reason() {
    for (ends, model, code) in [
        ("failed", "demo-video-a", None),
        ("failed", "demo-video-b", None),
        ("expired", "demo-video-a", Some("expired")),
        ("cancelled", "demo-video-a", Some("cancelled")),
    ] {
        let (_simulator, gateway) = start(&format!("queue=0ms;run=0ms;ends={ends}")).await;
        let created = create_video(&gateway, &json!({"model": model, "prompt": "a gate"})).await;
        let id = video_id(&created);
        let failed = ask(&gateway, OPENAI, &id).await.json();
        assert_eq!(failed["status"], "failed", "{ends} {failed}");
        assert!(failed["error"]["message"].is_string(), "{failed}");
        match code {
            Some(code) => assert_eq!(failed["error"]["code"], code),
            None => assert!(failed["error"]["code"].is_string(), "{failed}"),
        }
    }
}

#[tokio::test]
async fn a_deleted_video_is_gone_and_a_running_one_is_not_deleted() {
    for (course, model, is_deleted) in [
        ("queue=60m", "demo-video-a", true),
        ("queue=60m", "demo-video-b", true),
        ("queue=0ms;run=0ms", "demo-video-a", true),
        ("queue=0ms;run=0ms", "demo-video-b", true),
        ("queue=0ms;run=60m", "demo-video-a", false),
        ("queue=0ms;run=60m", "demo-video-b", false),
    ] {
        let (simulator, gateway) = start(course).await;
        let created = create_video(&gateway, &json!({"model": model, "prompt": "a gate"})).await;
        let id = video_id(&created);
        let other = Request::new("DELETE", &format!("{OPENAI}/{id}")).key(BOB);
        assert_eq!(gateway.ask(&other).await.status, 404);
        let deleted = cancel(&gateway, OPENAI, &id).await;
        let polled = ask(&gateway, OPENAI, &id).await;
        let cancels = operations(&simulator).await;
        let cancels = cancels.iter().filter(|one| *one == "cancel").count();
        assert_eq!(cancels, usize::from(course == "queue=60m"), "{course}");
        match is_deleted {
            true => {
                let expected = json!({"id": id, "object": "video.deleted", "deleted": true});
                assert_eq!(deleted.json(), expected, "{course} {model}");
                assert_error_body(Protocol::Videos, &polled, 404);
                assert_eq!(cancel(&gateway, OPENAI, &id).await.status, 404);
            }
            false => {
                let message = assert_error_body(Protocol::Videos, &deleted, 409);
                assert!(message.contains("delete it when it has ended"), "{message}");
                assert_eq!(polled.json()["status"], "in_progress");
            }
        }
    }
}

#[tokio::test]
async fn a_video_is_deleted_once_its_deletion_is_stored() {
    let (simulator, folder) = (Simulator::start().await, Folder::new());
    let mut config = openai_config(&simulator, "queue=0ms;run=0ms");
    config["state"] = json!(format!("sqlite:{}/state", folder.path().display()));
    let gateway = Gateway::start(&config).await;
    for is_locked in [true, false] {
        let created =
            create_video(&gateway, &json!({"model": MODELS[0], "prompt": "a gate"})).await;
        let id = video_id(&created);
        completed(&gateway, OPENAI, &id).await;
        if is_locked {
            let lock = lock_state_file(&folder).await;
            let deleted = cancel(&gateway, OPENAI, &id).await;
            let message = assert_error_body(Protocol::Videos, &deleted, 503);
            assert!(message.contains("try again"), "{message}");
            assert_eq!(ask(&gateway, OPENAI, &id).await.status, 200);
            drop(lock);
        }
        // A change that was given up may still be stored later.
        let deleted = cancel(&gateway, OPENAI, &id).await.status;
        assert!(deleted == 200 || is_locked && deleted == 404, "{deleted}");
        assert_eq!(ask(&gateway, OPENAI, &id).await.status, 404);
    }
}

#[tokio::test]
async fn a_list_and_what_no_model_can_do_is_refused_with_what_to_do_instead() {
    let (simulator, gateway) = start("").await;
    let listed = gateway.ask(&Request::get(OPENAI)).await;
    let message = assert_error_body(Protocol::Videos, &listed, 404);
    assert!(message.contains("lists of tasks"), "{message}");
    let body = r#"{"prompt":"a"}"#;
    let mut characters = form_create(&[("name", b"a")]);
    characters.target = format!("{OPENAI}/characters");
    for request in [
        Request::post(&format!("{OPENAI}/video_1/remix"), body),
        Request::post(&format!("{OPENAI}/edits"), body),
        Request::post(&format!("{OPENAI}/extensions"), body),
        characters,
        Request::get(&format!("{OPENAI}/characters/char_1")),
    ] {
        let refused = gateway.ask(&request).await;
        let message = assert_error_body(Protocol::Videos, &refused, 404);
        assert!(message.contains("create a new video"), "{message}");
        let unknown = gateway.ask(&request.key("sk-unknown")).await;
        assert_error_body(Protocol::Videos, &unknown, 401);
    }
    assert_eq!(operations(&simulator).await, [""; 0]);
}

#[tokio::test]
async fn the_key_of_a_create_makes_it_once_in_a_form_with_any_boundary() {
    let (simulator, gateway) = start("").await;
    let fields: [(&str, &[u8]); 3] = [
        ("model", b"demo-video-a"),
        ("prompt", b"a gate"),
        ("input_reference!", PNG),
    ];
    let first = form_create(&fields).header("Idempotency-Key", "one");
    let renamed = replace(&written(&fields, "-"), b"gate-7f", b"gate-8f");
    let again = Request::post(OPENAI, renamed)
        .without("content-type")
        .header("Content-Type", "multipart/form-data; boundary=gate-8f")
        .header("Idempotency-Key", "one");
    let ids = [
        video_id(&gateway.ask(&first).await),
        video_id(&gateway.ask(&again).await),
    ];
    assert_eq!(ids[0], ids[1]);
    assert_eq!(operations(&simulator).await, ["create"]);
}

fn replace(body: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = body.to_vec();
    for at in 0..body.len().saturating_sub(from.len()) {
        if body[at..].starts_with(from) {
            replaced[at..at + to.len()].copy_from_slice(to);
        }
    }
    replaced
}
