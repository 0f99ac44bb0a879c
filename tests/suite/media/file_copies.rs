//! Tests of image edits by the ids of files that were uploaded to another provider account.

use crate::harness::config::caller;
use crate::harness::folder::Folder;
use crate::harness::gateway::folder_with_schemas;
use crate::harness::images::{MODEL, PATH, written};
use crate::harness::media::{file, path_of_url, public_images};
use crate::harness::paid::is_replayed;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Gateway, Request, Simulator, WholeResponse, eventually};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Uploads go to one account, and edits to another one.
fn two_accounts(simulator: &Simulator, image_edit: Value) -> Value {
    let mut config = public_images(simulator, "", image_edit);
    config["callers"] = json!([caller("ann", ANN, &["*"]), caller("bob", BOB, &["*"])]);
    config["channels"]["uploads"] = json!({
        "base_url": simulator.url(), "credential": {"bearer": "sk-uploads"},
        "protocols": ["responses"], "models": {"demo-large": "sim-large-2026-08"},
    });
    let steps = config["routes"][0]["request"].as_array_mut().unwrap();
    let follow = steps.iter().position(|step| step == "follow_ids").unwrap();
    steps.insert(follow, json!("copy_files"));
    let upload = json!(["authenticate", {"limit_body": "64MiB"}, "copy_files", "follow_ids", "first_channel"]);
    let by_id = json!(["authenticate", "copy_files", "follow_ids"]);
    config["routes"].as_array_mut().unwrap().extend([
        json!({"name": "files", "match": "GET|POST /v1/files", "request": upload,
            "response": ["keep_own", "remember_ids"]}),
        json!({"name": "file", "match": "GET|DELETE /v1/files/{id}", "request": by_id,
            "response": ["remember_ids"]}),
    ]);
    config
}

/// The configuration without copies.
fn without_copies(mut config: Value) -> Value {
    for route in config["routes"].as_array_mut().unwrap() {
        let steps = route["request"].as_array_mut().unwrap();
        steps.retain(|step| step != "copy_files");
    }
    config
}

fn upload_of(content: &[u8], purpose: &str) -> Request {
    let form = written(
        &[("purpose", purpose.as_bytes()), ("file!", content)],
        MODEL,
    );
    Request::post("/v1/files", form)
        .without("content-type")
        .header("Content-Type", "multipart/form-data; boundary=gate-7f")
}

/// Uploads a file, and returns its id.
async fn upload(gateway: &Gateway, content: &[u8]) -> String {
    let made = gateway.ask(&upload_of(content, "vision")).await;
    assert_eq!(made.status, 200, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

fn edit_body(ids: &[&str]) -> Value {
    let images: Vec<Value> = ids.iter().map(|id| json!({"file_id": id})).collect();
    json!({"model": MODEL, "prompt": "Open the gate", "images": images})
}

fn edit_of(ids: &[&str]) -> Request {
    Request::post(PATH, edit_body(ids).to_string())
}

async fn delete(gateway: &Gateway, id: &str) -> WholeResponse {
    gateway
        .ask(&Request::new("DELETE", &format!("/v1/files/{id}")))
        .await
}

/// The number of files in the media store.
fn stored(folder: &Folder) -> usize {
    let Ok(folders) = std::fs::read_dir(folder.path().join("media")) else {
        return 0;
    };
    let files = folders.map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count());
    files.sum()
}

/// Makes the directory of the media store unusable.
fn break_store(folder: &Path) {
    let media = folder.join("media");
    let _ = std::fs::rename(&media, folder.join("media-before"));
    std::fs::write(media, "").unwrap();
}

#[tokio::test]
async fn an_edit_uses_a_file_that_was_uploaded_to_another_account() {
    let simulator = Simulator::start().await;
    let content = file("image", 700_000, 1);
    let base64 = STANDARD.encode(&content);
    for format in ["unchanged", "json", "json_with_urls", "multipart"] {
        let image_edit = json!({"body": format});
        let config = two_accounts(&simulator, image_edit.clone());
        let gateway = Gateway::start(&without_copies(config)).await;
        let id = upload(&gateway, &content).await;
        let refused = gateway.ask(&edit_of(&[&id])).await;
        assert_eq!(refused.status, 400, "without copies: {}", refused.text());

        let gateway = Gateway::start(&two_accounts(&simulator, image_edit)).await;
        let id = upload(&gateway, &content).await;
        let mut body = edit_body(&[&id, &id]);
        body["mask"] = json!({"file_id": id});
        let edited = gateway.ask(&Request::post(PATH, body.to_string())).await;
        assert_eq!(edited.status, 200, "{format}: {}", edited.text());
        let sent = simulator.last_body().await;
        match format {
            "multipart" => {
                let files = memchr::memmem::find_iter(&sent, &content).count();
                assert_eq!(files, 3);
            }
            "json_with_urls" => {
                let sent: Value = serde_json::from_slice(&sent).unwrap();
                let path = path_of_url(sent["mask"]["image_url"].as_str().unwrap());
                let read = gateway
                    .ask(&Request::get(&path).without("authorization"))
                    .await;
                assert!(read.body == content, "{} bytes", read.body.len());
                assert_eq!(sent["images"][0], sent["mask"]);
            }
            _ => {
                let sent: Value = serde_json::from_slice(&sent).unwrap();
                let image = json!({"image_url": format!("data:image/png;base64,{base64}")});
                assert!(sent["images"] == json!([image, image]), "{format}");
                assert!(sent["mask"] == image, "{format}");
            }
        }
    }
}

#[tokio::test]
async fn a_file_of_another_caller_is_as_unknown_as_one_that_never_was() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&two_accounts(&simulator, json!({}))).await;
    let id = upload(&gateway, &file("image", 1000, 1)).await;
    let mut messages = Vec::new();
    for id in [&*id, "file-never_made_here"] {
        let refused = gateway.ask(&edit_of(&[id]).key(BOB)).await;
        assert_eq!(refused.status, 404, "{}", refused.text());
        messages.push(refused.json()["error"]["message"].clone());
        let kept = gateway
            .ask(&Request::new("DELETE", &format!("/v1/files/{id}")).key(BOB))
            .await;
        assert_eq!(kept.status, 404, "{}", kept.text());
    }
    assert_eq!(messages[0], messages[1]);
    assert_eq!(gateway.ask(&edit_of(&[&id])).await.status, 200);
}

#[tokio::test]
async fn deleting_a_file_removes_its_copy() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&two_accounts(&simulator, json!({}))).await;
    let content = file("image", 2_000_000, 1);
    let (id, twin) = (
        upload(&gateway, &content).await,
        upload(&gateway, &content).await,
    );
    assert_eq!(
        stored(&gateway.folder),
        2,
        "each file has a copy of its own"
    );
    let deleted = delete(&gateway, &id).await;
    assert_eq!(
        (deleted.status, &deleted.json()["deleted"]),
        (200, &json!(true))
    );
    assert_eq!(stored(&gateway.folder), 1);
    assert_eq!(gateway.ask(&edit_of(&[&id])).await.status, 404);
    assert_eq!(gateway.ask(&edit_of(&[&twin])).await.status, 200);
    assert_eq!(delete(&gateway, &twin).await.status, 200);
    assert_eq!(stored(&gateway.folder), 0);
}

#[tokio::test]
async fn the_copy_of_a_file_that_the_provider_no_longer_has_is_removed() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&two_accounts(&simulator, json!({}))).await;
    let id = upload(&gateway, &file("image", 1000, 1)).await;
    let mut config = without_copies(two_accounts(&simulator, json!({})));
    for route in config["routes"].as_array_mut().unwrap() {
        if route["name"] == "file" {
            route["request"] = json!(["authenticate", {"pin": "uploads"}, "follow_ids"]);
        }
    }
    let other = Gateway::start(&config).await;
    assert_eq!(delete(&other, &id).await.status, 200);
    // The copy is the caller's until the caller deletes the file here, too.
    assert_eq!(gateway.ask(&edit_of(&[&id])).await.status, 200);
    assert_eq!(delete(&gateway, &id).await.status, 404);
    assert_eq!(stored(&gateway.folder), 0);
}

#[tokio::test]
async fn nothing_is_deleted_if_the_copy_cannot_be_removed() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&two_accounts(&simulator, json!({}))).await;
    let id = upload(&gateway, &file("image", 1000, 1)).await;
    break_store(gateway.folder.path());
    let refused = delete(&gateway, &id).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    // The copy, which is half removed, is no longer used.
    assert_eq!(gateway.ask(&edit_of(&[&id])).await.status, 400);
    let media = gateway.folder.path().join("media");
    std::fs::remove_file(&media).unwrap();
    std::fs::rename(gateway.folder.path().join("media-before"), &media).unwrap();
    assert_eq!(
        gateway
            .ask(&Request::get(&format!("/v1/files/{id}")))
            .await
            .status,
        200
    );
    assert_eq!(delete(&gateway, &id).await.status, 200);
    assert_eq!(stored(&gateway.folder), 0);
}

#[tokio::test]
async fn an_upload_succeeds_without_its_copy() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&two_accounts(&simulator, json!({}))).await;
    for (content, purpose, is_broken) in [
        (b"{\"custom_id\":\"a\"}\n".to_vec(), "batch", false),
        (file("document", 1000, 1), "user_data", false),
        (file("image", 1000, 1), "vision", true),
    ] {
        if is_broken {
            break_store(gateway.folder.path());
        }
        let made = gateway.ask(&upload_of(&content, purpose)).await;
        assert_eq!(made.status, 200, "{}", made.text());
        assert!(is_broken || stored(&gateway.folder) == 0, "{purpose}");
        let refused = gateway
            .ask(&edit_of(&[made.json()["id"].as_str().unwrap()]))
            .await;
        assert_eq!(refused.status, 400, "{}", refused.text());
    }
    eventually("a warning", async || {
        let mut lines = gateway.process.stderr.json().into_iter();
        lines.find(|line| line.to_string().contains("cannot copy an uploaded file"))
    })
    .await;
}

#[tokio::test]
async fn copies_of_one_request_are_limited_together() {
    let simulator = Simulator::start().await;
    let gateway = Gateway::start(&two_accounts(&simulator, json!({}))).await;
    let id = upload(&gateway, &file("image", 20_000_000, 1)).await;
    assert_eq!(gateway.ask(&edit_of(&[id.as_str(); 3])).await.status, 200);
    let edits = simulator.records().await.len();
    let refused = gateway.ask(&edit_of(&[id.as_str(); 4])).await;
    assert_eq!(refused.status, 413, "{}", refused.text());
    assert_eq!(simulator.records().await.len(), edits);
}

#[tokio::test]
async fn concurrent_edits_and_one_delete_leave_nothing_behind() {
    let simulator = Simulator::start().await;
    let gateway = Arc::new(Gateway::start(&two_accounts(&simulator, json!({}))).await);
    let id = upload(&gateway, &file("image", 100_000, 1)).await;
    let mut edits = JoinSet::new();
    for _ in 0..20 {
        let (gateway, request) = (gateway.clone(), edit_of(&[&id]));
        edits.spawn(async move { gateway.ask(&request).await.status });
    }
    let mut tries = 0;
    loop {
        match delete(&gateway, &id).await.status {
            200 => break,
            503 if tries < 20 => tries += 1,
            other => panic!("{other} after {tries} tries"),
        }
    }
    for status in edits.join_all().await {
        assert!([200, 400, 404, 503].contains(&status), "{status}");
    }
    assert_eq!(stored(&gateway.folder), 0);
}

#[tokio::test]
async fn a_copy_survives_kill_minus_9() {
    let simulator = Simulator::start().await;
    let mut config = two_accounts(&simulator, json!({}));
    config["state"] = json!("sqlite:state.sqlite");
    let folder = folder_with_schemas();
    let routes = folder.write("routes.yaml", config.to_string());
    let mut gateway = Gateway::start_at(&routes).await;
    let id = upload(&gateway, &file("image", 5000, 1)).await;
    gateway.process.signal(libc::SIGKILL);
    eventually("the end of the process", async || gateway.process.ended()).await;
    let next = Gateway::start_at(&routes).await;
    // The copy is stored before the response to the upload; that the upload's channel has the file may be lost.
    assert_eq!(next.ask(&edit_of(&[&id])).await.status, 200);
    assert_eq!(stored(&folder), 1);
}

#[tokio::test]
async fn an_account_that_takes_forms_gets_the_content_of_its_own_files() {
    let simulator = Simulator::start().await;
    let mut config = two_accounts(&simulator, json!({"body": "multipart"}));
    config["channels"]
        .as_object_mut()
        .unwrap()
        .remove("uploads");
    config["channels"]["images"]["protocols"] = json!(["responses", "image_edit"]);
    let gateway = Gateway::start(&config).await;
    let content = file("image", 1000, 1);
    let id = upload(&gateway, &content).await;
    let edited = gateway.ask(&edit_of(&[&id])).await;
    assert_eq!(edited.status, 200, "{}", edited.text());
    let sent = simulator.last_body().await;
    assert_eq!(memchr::memmem::find_iter(&sent, &content).count(), 1);
}

#[tokio::test]
async fn the_recorded_response_of_an_edit_is_delivered_after_its_file_was_deleted() {
    let simulator = Simulator::start().await;
    let mut config = two_accounts(&simulator, json!({}));
    let steps = config["routes"][0]["request"].as_array_mut().unwrap();
    let validate = steps.iter().position(|step| step == "validate").unwrap();
    steps.insert(validate + 1, json!("idempotency"));
    let gateway = Gateway::start(&config).await;
    let content = file("image", 1000, 1);
    let id = upload(&gateway, &content).await;
    let edit = edit_of(&[&id]).header("Idempotency-Key", "edit-1");
    let first = gateway.ask(&edit).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(delete(&gateway, &id).await.status, 200);
    let requests = simulator.records().await.len();
    let retry = gateway.ask(&edit).await;
    assert_eq!((retry.status, is_replayed(&retry)), (200, true));
    assert!(retry.body == first.body);
    assert_eq!(simulator.records().await.len(), requests);
    // The refusal of an unknown file frees the key.
    let unknown = edit_of(&[&id]).header("Idempotency-Key", "edit-2");
    assert_eq!(gateway.ask(&unknown).await.status, 404);
    let id = upload(&gateway, &content).await;
    let mended = edit_of(&[&id]).header("Idempotency-Key", "edit-2");
    let made = gateway.ask(&mended).await;
    assert_eq!((made.status, is_replayed(&made)), (200, false));
}
