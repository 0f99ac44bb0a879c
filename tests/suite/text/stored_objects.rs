//! Tests of uploads, vector stores and stored chat completions: what they create and name stays on its account and with its caller.

use crate::harness::accounts::{ACCOUNTS, CAT, form};
use crate::harness::error_shape::assert_error_body;
use crate::harness::http_response::json_response;
use crate::harness::request::{ANN, BOB};
use crate::harness::{Accounts, Gateway, Request, ScriptedProvider, WholeResponse, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Two accounts, where chat completions may be stored.
async fn accounts() -> Accounts {
    Accounts::with(|config| {
        let chat = &mut config["routes"][0];
        assert_eq!(chat["name"], "chat");
        chat["response"] = json!(["pass_sse", "meter_usage", "remember_ids"]);
    })
    .await
}

fn post(path: &str, body: Value) -> Request {
    Request::post(path, body.to_string())
}

fn chat(more: Value) -> Request {
    let mut body =
        json!({"model": "demo-large", "messages": [{"role": "user", "content": "Hello"}]});
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    Request::to(Protocol::Chat, body.to_string())
}

/// The id of a chat completion, whole or streamed.
fn completion_id(response: &WholeResponse) -> String {
    assert_eq!(response.status, 200, "{}", response.text());
    let text = response.text();
    let at = text.find("chatcmpl-").expect("a completion");
    text[at..].split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_stored_chat_completion_is_read_listed_changed_and_deleted_on_its_account() {
    let world = accounts().await;
    for stream in [false, true] {
        let asked = chat(json!({"store": true, "stream": stream, "metadata": {"topic": "tea"}}));
        let response = world.ask(&asked.key(ANN)).await;
        let id = completion_id(&response);
        world.gateway.log_of(&response).await;
        let path = format!("/v1/chat/completions/{id}");
        let homes = world.knowing(&path).await;
        assert_eq!(homes.len(), 1, "one account has it");
        // Both accounts serve the model, so that success is not random.
        for _ in 0..4 {
            let read = world.ask(&Request::get(&path).key(ANN)).await;
            assert_eq!((read.status, &read.json()["id"]), (200, &json!(id)));
        }
        let messages = world
            .ask(&Request::get(&format!("{path}/messages")).key(ANN))
            .await;
        assert_eq!(messages.json()["data"][0]["content"], "Hello");
        let changed = post(&path, json!({"metadata": {"topic": "coffee"}})).key(ANN);
        assert_eq!(world.ask(&changed).await.status, 200);
        let before = world.count().await;
        for verb in ["GET", "DELETE"] {
            let strangers = world.ask(&Request::new(verb, &path).key(CAT)).await;
            assert_error_body(Protocol::Chat, &strangers, 404);
        }
        assert_eq!(world.count().await, before, "no provider heard of it");
        let deleted = world.ask(&Request::new("DELETE", &path).key(ANN)).await;
        assert_eq!(deleted.json()["deleted"], true);
        assert_eq!(world.ask(&Request::get(&path).key(ANN)).await.status, 404);
    }
}

#[tokio::test]
async fn a_chat_completion_that_is_not_stored_is_not_kept() {
    let world = accounts().await;
    for more in [json!({}), json!({"store": false}), json!({"stream": true})] {
        let response = world.ask(&chat(more)).await;
        let id = completion_id(&response);
        world.gateway.log_of(&response).await;
        let before = world.count().await;
        let read = world
            .ask(&Request::get(&format!("/v1/chat/completions/{id}")))
            .await;
        assert_error_body(Protocol::Chat, &read, 404);
        assert_eq!(read.json()["error"]["code"], "id_not_found");
        assert_eq!(world.count().await, before, "no provider heard of it");
    }
}

#[tokio::test]
async fn a_provider_that_names_no_type_of_object_makes_no_id_of_a_chat_completion() {
    let body = r#"{"id":"chatcmpl-1","choices":[{"message":{"role":"assistant","content":"Hi"}}]}"#;
    let provider = ScriptedProvider::answering(json_response(200, body)).await;
    let mut config = config::standard(&provider.url());
    config::add_stored_objects(&mut config);
    config::route(&mut config, "chat")["response"] = json!(["remember_ids"]);
    let gateway = Gateway::start(&config).await;
    let read = Request::get("/v1/chat/completions/chatcmpl-1");
    for (more, status) in [(json!({}), 404), (json!({"store": true}), 200)] {
        let made = gateway.ask(&chat(more)).await;
        assert_eq!(made.status, 200, "{}", made.text());
        gateway.log_of(&made).await;
        let found = gateway.ask(&read).await;
        assert_eq!(found.status, status, "{}", found.text());
    }
}

#[tokio::test]
async fn a_list_of_chat_completions_has_those_of_the_caller() {
    let world = accounts().await;
    let mut own = Vec::new();
    // Only the second account serves the small model, and it is where requests of `bob` without a model go.
    for caller in [BOB, CAT, BOB] {
        let asked = chat(json!({"store": true, "model": "demo-small"}));
        let response = world.ask(&asked.key(caller)).await;
        let id = completion_id(&response);
        world.gateway.log_of(&response).await;
        own.extend((caller == BOB).then_some(id));
    }
    let list = Request::get("/v1/chat/completions");
    let all = world.direct(&list.clone().key(ACCOUNTS[1])).await.json();
    assert_eq!(all["data"].as_array().unwrap().len(), 3);
    let listed = world.ask(&list.key(BOB)).await.json();
    let mut ids: Vec<_> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    own.sort_unstable();
    assert_eq!(ids, own);
    assert_eq!(listed["first_id"], listed["data"][0]["id"]);
}

#[tokio::test]
async fn a_completed_upload_is_a_file_of_its_account() {
    let world = accounts().await;
    let create =
        json!({"purpose": "user_data", "filename": "a.txt", "bytes": 8, "mime_type": "text/plain"});
    let upload = world.make(&post("/v1/uploads", create).key(BOB)).await;
    let path = |end: &str| format!("/v1/uploads/{upload}/{end}");
    let mut parts = Vec::new();
    for content in [b"first, ", b"second."] {
        let part = world
            .ask(&form(&path("parts"), &[], content).key(BOB))
            .await;
        assert_eq!(part.status, 200, "{}", part.text());
        parts.push(part.json()["id"].clone());
    }
    let complete = post(&path("complete"), json!({"part_ids": parts}));
    let strangers = world.ask(&complete.clone().key(ANN)).await;
    assert_error_body(Protocol::Responses, &strangers, 404);
    let completed = world.ask(&complete.key(BOB)).await;
    assert_eq!(
        completed.json()["status"],
        "completed",
        "{}",
        completed.text()
    );
    world.gateway.log_of(&completed).await;
    let file = completed.json()["file"]["id"].as_str().unwrap().to_owned();
    let content = Request::get(&format!("/v1/files/{file}/content"));
    assert_eq!(
        world.ask(&content.clone().key(BOB)).await.body,
        b"first, second."
    );
    assert_error_body(
        Protocol::Responses,
        &world.ask(&content.key(ANN)).await,
        404,
    );
}

#[tokio::test]
async fn a_vector_store_takes_files_of_its_own_account_only() {
    let world = accounts().await;
    let upload = |key| form("/v1/files", &[("purpose", "user_data")], b"shelf").key(key);
    let own = world.make(&upload(ANN)).await;
    let elsewhere = world.make(&upload(BOB)).await;
    let create = post(
        "/v1/vector_stores",
        json!({"name": "shelf", "file_ids": [own]}),
    );
    let store = world.make(&create.key(ANN)).await;
    let at = |suffix: &str| format!("/v1/vector_stores/{store}{suffix}");
    let added = world
        .ask(&post(&at("/files"), json!({"file_id": own})).key(ANN))
        .await;
    assert_eq!(added.status, 200, "{}", added.text());
    let batch = json!({"files": [{"file_id": own, "attributes": {"shelf": 1}}]});
    let batch = world.ask(&post(&at("/file_batches"), batch).key(ANN)).await;
    assert_eq!(
        batch.json()["object"],
        "vector_store.files_batch",
        "{}",
        batch.text()
    );
    let one = format!("{}/{own}", at("/files"));
    assert_eq!(world.ask(&Request::get(&one).key(ANN)).await.status, 200);
    let found = world
        .ask(&post(&at("/search"), json!({"query": "tea"})).key(ANN))
        .await;
    assert_eq!(found.json()["data"][0]["file_id"], json!(own));
    let before = world.count().await;
    for body in [
        json!({"file_id": elsewhere}),
        json!({"file_id": "file-never"}),
    ] {
        let refused = world.ask(&post(&at("/files"), body).key(ANN)).await;
        assert_error_body(Protocol::Responses, &refused, 404);
    }
    let files = json!({"files": [{"file_id": own}, {"file_id": elsewhere}]});
    let refused = world.ask(&post(&at("/file_batches"), files).key(ANN)).await;
    assert_error_body(Protocol::Responses, &refused, 404);
    assert_eq!(refused.json()["error"]["param"], "files.1.file_id");
    assert_eq!(world.count().await, before, "no provider heard of it");
    let removed = world.ask(&Request::new("DELETE", &one).key(ANN)).await;
    assert_eq!(removed.json()["object"], "vector_store.file.deleted");
    // The store and the file exist on.
    assert_eq!(world.ask(&Request::get(&at("")).key(ANN)).await.status, 200);
    assert_eq!(
        world
            .ask(&Request::get(&format!("/v1/files/{own}")).key(ANN))
            .await
            .status,
        200
    );
}
