//! Tests of ids in special cases: different or removed accounts, shared lists, pins.

use crate::harness::accounts::{ACCOUNTS, CAT, form};
use crate::harness::config::route;
use crate::harness::error_shape::{assert_alike, assert_error_body};
use crate::harness::request::{ANN, BOB};
use crate::harness::token_issuer::{FakeIssuer, TokenSigner, claims_with};
use crate::harness::{Accounts, Request};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

fn upload() -> Request {
    form("/v1/files", &[("purpose", "user_data")], b"content")
}

fn ask(body: Value) -> Request {
    Request::to(Protocol::Responses, body.to_string())
}

fn with_file(file: &str) -> Value {
    let content = json!([{"type": "input_file", "file_id": file}]);
    json!({"model": "demo-large", "input": [{"role": "user", "content": content}]})
}

#[tokio::test]
async fn ids_of_two_accounts_in_one_request_are_refused() {
    let world = Accounts::start().await;
    let file = world.make(&upload()).await;
    let response = loop {
        let id = world
            .make(&ask(json!({"model": "demo-large", "input": "x"})))
            .await;
        if world.knowing(&format!("/v1/responses/{id}")).await == [ACCOUNTS[1]] {
            break id;
        }
    };
    let before = world.count().await;
    let mut body = with_file(&file);
    body["previous_response_id"] = response.into();
    let refused = world.ask(&ask(body)).await;
    let message = assert_error_body(Protocol::Responses, &refused, 400);
    assert!(message.contains("different provider accounts"), "{message}");
    for at in ["previous_response_id", "input.0.content.0.file_id"] {
        assert!(message.contains(at), "{message}");
    }
    assert_eq!(world.count().await, before);
}

#[tokio::test]
async fn an_id_where_the_model_is_not_offered_is_refused() {
    let world = Accounts::start().await;
    let file = world.make(&upload()).await;
    let mut body = with_file(&file);
    body["model"] = "demo-small".into();
    let refused = world.ask(&ask(body)).await;
    assert_error_body(Protocol::Responses, &refused, 400);
    assert_eq!(refused.json()["error"]["param"], "model");
}

#[tokio::test]
async fn a_form_that_names_a_file_is_held_to_the_same() {
    let world = Accounts::start().await;
    let file = world.make(&upload()).await;
    let attach = async |key: &str, file: &str| {
        let create = Request::post("/v1/containers", json!({"name": "box"}).to_string());
        let container = world.make(&create.key(key)).await;
        let files = format!("/v1/containers/{container}/files");
        let as_json = Request::post(&files, json!({"file_id": file}).to_string());
        let as_form = form(&files, &[("file_id", file)], b"");
        [
            world.ask(&as_json.key(key)).await,
            world.ask(&as_form.key(key)).await,
        ]
    };
    for answer in attach(ANN, &file).await {
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    for (theirs, nobodys) in attach(CAT, &file)
        .await
        .iter()
        .zip(attach(CAT, "file-never").await)
    {
        assert_alike(Protocol::Responses, theirs, &nobodys);
    }
}

#[tokio::test]
async fn a_body_that_is_neither_json_nor_a_form_goes_nowhere() {
    let world = Accounts::start().await;
    let file = world.make(&upload()).await;
    let body = json!({"name": "box", "file_ids": [file]}).to_string();
    let before = world.count().await;
    for content_type in [
        "text/plain",
        "application/octet-stream",
        "multipart/form-data",
    ] {
        let request = Request::post("/v1/containers", body.clone()).without("content-type");
        let sly = request.header("Content-Type", content_type).key(CAT);
        let answer = world.ask(&sly).await;
        assert_error_body(Protocol::Responses, &answer, 404);
    }
    let form = "multipart/form-data; boundary=x";
    for types in [
        &[form][..],
        &[form, "application/json"],
        &["application/json", form],
    ] {
        let bare = Request::post("/v1/containers", body.clone()).without("content-type");
        let sly = types
            .iter()
            .fold(bare, |request, one| request.header("Content-Type", one));
        let answer = world.ask(&sly.key(CAT)).await;
        assert!(
            matches!(answer.status, 400 | 404),
            "{types:?}: {}",
            answer.text()
        );
    }
    let answer = world
        .ask(&Request::post("/v1/files", "no json").key(CAT))
        .await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(world.count().await, before);
}

#[tokio::test]
async fn a_list_shows_what_its_caller_made() {
    let world = Accounts::start().await;
    let mut own = Vec::new();
    for _ in 0..3 {
        world.make(&upload().key(CAT)).await;
        own.push(world.make(&upload().key(ANN)).await);
    }
    own.reverse();
    world.make(&upload().key(CAT)).await;
    let list = |query: &str, key: &str| Request::get(&format!("/v1/files{query}")).key(key);
    let whole = world.direct(&list("", ACCOUNTS[0])).await.json();
    assert_eq!(whole["data"].as_array().unwrap().len(), 7);
    for query in ["", "?limit=10", &format!("?after={}", own[0])] {
        let seen = world.ask(&list(query, ANN)).await;
        assert_eq!(seen.status, 200, "{}", seen.text());
        let seen = seen.json();
        let ids: Vec<&str> = seen["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, own);
        let (first, last) = (&seen["first_id"], &seen["last_id"]);
        assert_eq!((first, last), (&json!(own[0]), &json!(own[2])));
    }
    let empty = world.ask(&list("", BOB)).await.json();
    assert_eq!(
        empty,
        json!({"object": "list", "data": [], "first_id": null, "last_id": null, "has_more": false})
    );
    let theirs = world.ask(&list(&format!("?after={}", own[0]), CAT)).await;
    let nobodys = world.ask(&list("?after=file-never", CAT)).await;
    assert_alike(Protocol::Responses, &theirs, &nobodys);
}

#[tokio::test]
async fn what_a_removed_channel_made_is_gone() {
    let mut world = Accounts::start().await;
    let file = world.make(&upload().key(BOB)).await;
    world
        .reload(|config| drop(config["channels"].as_object_mut().unwrap().remove("second")))
        .await;
    let before = world.count().await;
    let path = format!("/v1/files/{file}");
    for request in [
        Request::get(&path),
        Request::get(&format!("{path}/content")),
        Request::new("DELETE", &path),
    ] {
        let gone = world.ask(&request.clone().key(BOB)).await;
        let message = assert_error_body(Protocol::Responses, &gone, 410);
        assert!(
            message.contains("was removed from this gateway"),
            "{message}"
        );
        assert_eq!(gone.json()["error"]["code"], "id_gone");
        let theirs = world.ask(&request.key(ANN)).await;
        assert_error_body(Protocol::Responses, &theirs, 404);
    }
    assert_eq!(world.count().await, before, "no other channel is asked");
}

/// Inserts `pin` on every route for files.
fn pin(config: &mut Value, to: &Value) {
    for name in ["files", "file", "file_content", "responses"] {
        let request = route(config, name)["request"].as_array_mut().unwrap();
        let place = request
            .iter()
            .position(|step| step == "follow_ids")
            .unwrap();
        request.insert(place, json!({"pin": to}));
    }
}

#[tokio::test]
async fn a_pin_leads_to_what_was_made_elsewhere() {
    let mut world = Accounts::start().await;
    let elsewhere = world.direct(&upload().key(ACCOUNTS[1])).await.json();
    let elsewhere = elsewhere["id"].as_str().unwrap();
    let bobs = world.make(&upload().key(BOB)).await;
    let read = |id: &str, key: &str| Request::get(&format!("/v1/files/{id}")).key(key);
    assert_eq!(world.ask(&read(elsewhere, ANN)).await.status, 404);
    world
        .reload(|config| pin(config, &json!({"ann": "second"})))
        .await;
    assert_eq!(
        world.ask(&read(elsewhere, CAT)).await.status,
        404,
        "only ann is pinned"
    );
    let found = world.ask(&read(elsewhere, ANN)).await;
    assert_eq!(found.status, 200, "{}", found.text());
    for _ in 0..4 {
        let answer = world.ask(&ask(with_file(elsewhere))).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    // An id of another caller is not pinned, even though the resource is in the same account.
    let theirs = world.ask(&read(&bobs, ANN)).await;
    assert_error_body(Protocol::Responses, &theirs, 404);
    let made = world.make(&upload().key(ANN)).await;
    assert_eq!(
        world.knowing(&format!("/v1/files/{made}")).await,
        [ACCOUNTS[1]]
    );
}

#[tokio::test]
async fn a_pin_for_all_leads_no_claimed_caller_to_the_ids_of_another() {
    let signer = TokenSigner::ed25519("ed", 1);
    let issuer = FakeIssuer::start().await;
    issuer.publish(&[&signer]);
    let world = Accounts::with(|config| {
        config["issuers"] = json!({"corp": issuer.entry()});
        pin(config, &json!("second"));
        for name in ["files", "file"] {
            let step = &mut route(config, name)["request"][0];
            assert_eq!(step, "authenticate");
            *step = json!({"authenticate": {"jwt": ["corp"]}});
        }
    })
    .await;
    let tokens = ["alice", "mallory"].map(|sub| signer.token(&claims_with(json!({"sub": sub}))));
    let alices = world.make(&upload().key(&tokens[0])).await;
    let elsewhere = world.direct(&upload().key(ACCOUNTS[1])).await.json();
    let elsewhere = elsewhere["id"].as_str().unwrap();
    let status = async |id: &str, key: &str| {
        let read = Request::get(&format!("/v1/files/{id}")).key(key);
        world.ask(&read).await.status
    };
    assert_eq!(status(&alices, &tokens[0]).await, 200);
    assert_eq!(status(elsewhere, &tokens[1]).await, 200, "it is nobody's");
    for key in [tokens[1].as_str(), ANN] {
        assert_eq!(status(&alices, key).await, 404, "{key}");
    }
}

#[tokio::test]
async fn a_pin_for_all_takes_what_names_no_channel() {
    let world = Accounts::with(|config| pin(config, &json!("second"))).await;
    for key in [ANN, BOB, CAT] {
        let made = world.make(&upload().key(key)).await;
        assert_eq!(
            world.knowing(&format!("/v1/files/{made}")).await,
            [ACCOUNTS[1]]
        );
    }
}

#[tokio::test]
async fn a_pin_or_an_order_that_cannot_work_is_refused_with_its_reason() {
    let world = Accounts::start().await;
    for (request, reason) in [
        (
            json!(["authenticate", {"pin": "secnd"}, "follow_ids", "first_channel"]),
            "unknown channel `secnd`",
        ),
        (
            json!(["authenticate", {"pin": {"anne": "second"}}, "follow_ids", "first_channel"]),
            "unknown caller `anne`",
        ),
        (
            json!(["authenticate", {"pin": {"ann": "messages"}}, "follow_ids", "first_channel"]),
            "channel `messages` does not speak responses",
        ),
        (
            json!(["authenticate", "follow_ids", {"pin": "second"}, "first_channel"]),
            "`follow_ids` requires an earlier `pin`",
        ),
        (
            json!([{"pin": "second"}, "authenticate", "first_channel"]),
            "`pin` requires an earlier `authenticate`",
        ),
        (
            json!(["authenticate", "first_channel", "follow_ids"]),
            "`first_channel` requires an earlier `follow_ids`",
        ),
        (
            json!(["authenticate", "follow_ids"]),
            "has no filter that selects a channel",
        ),
    ] {
        let mut config = world.config.clone();
        route(&mut config, "conversations")["request"] = request;
        let refused = world.try_reload(&config).await;
        assert!(
            refused.status != 200 && refused.text().contains(reason),
            "{reason}: {}",
            refused.text()
        );
    }
}

#[tokio::test]
async fn a_caller_without_models_on_the_channel_is_refused() {
    let world = Accounts::with(|config| config["callers"][1]["models"] = json!(["none"])).await;
    let before = world.count().await;
    for request in [upload(), Request::get("/v1/files")] {
        let refused = world.ask(&request.key(BOB)).await;
        assert_error_body(Protocol::Responses, &refused, 403);
    }
    assert_eq!(world.count().await, before);
}
