//! Tests of resources by id: requests go to the account that created them, and only for the caller who received the id.

use crate::harness::accounts::{ACCOUNTS, CALLERS, CAT, form};
use crate::harness::error_shape::{assert_alike, assert_error_body};
use crate::harness::request::{ANN, BOB};
use crate::harness::{Accounts, Request};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Binary content that includes line ends and delimiters.
const CONTENT: &[u8] = b"\x00\xff\r\n--\r\n\"file_id\": \"x\"\n\r\n\x80";

fn creates() -> [(&'static str, Request); 5] {
    let json = |path, body: Value| Request::post(path, body.to_string());
    [
        (
            "/v1/files",
            form("/v1/files", &[("purpose", "user_data")], CONTENT),
        ),
        (
            "/v1/conversations",
            json("/v1/conversations", json!({"metadata": {"a": "b"}})),
        ),
        (
            "/v1/containers",
            json("/v1/containers", json!({"name": "box"})),
        ),
        (
            "/v1/vector_stores",
            json("/v1/vector_stores", json!({"name": "shelf"})),
        ),
        (
            "/v1/uploads",
            json(
                "/v1/uploads",
                json!({"purpose": "user_data", "filename": "a", "bytes": 1, "mime_type": "text/plain"}),
            ),
        ),
    ]
}

/// Requests with every method for a resource, the one that ends it last.
fn verbs(path: &str, id: &str) -> Vec<Request> {
    let at = |suffix: &str| format!("{path}/{id}{suffix}");
    let items = json!({"items": [{"type": "message", "role": "user", "content": "x"}]});
    let part = |suffix: &str| form(&at(suffix), &[], CONTENT);
    let middle = match path {
        // An upload is never read.
        "/v1/uploads" => {
            let cancel = Request::post(&at("/cancel"), "{}".to_owned());
            return vec![part("/parts"), cancel];
        }
        "/v1/vector_stores" => vec![
            Request::post(&at(""), json!({"name": "other"}).to_string()),
            Request::post(&at("/search"), json!({"query": "x"}).to_string()),
            Request::get(&at("/files")),
        ],
        "/v1/files" => vec![Request::get(&at("/content"))],
        "/v1/conversations" => vec![
            Request::post(&at(""), json!({"metadata": {}}).to_string()),
            Request::post(&at("/items"), items.to_string()),
            Request::get(&at("/items?limit=5")),
        ],
        _ => vec![part("/files"), Request::get(&at("/files"))],
    };
    let mut verbs = vec![Request::get(&at(""))];
    verbs.extend(middle);
    verbs.push(Request::new("DELETE", &at("")));
    verbs
}

#[tokio::test]
async fn each_verb_on_each_id_goes_to_its_account_and_only_for_its_caller() {
    let world = Accounts::start().await;
    for (owner, home) in [(ANN, ACCOUNTS[0]), (BOB, ACCOUNTS[1])] {
        for (path, create) in creates() {
            let id = world.make(&create.key(owner)).await;
            if path != "/v1/uploads" {
                let knowing = world.knowing(&format!("{path}/{id}")).await;
                assert_eq!(knowing, [home], "{path}");
            }
            let never = verbs(path, "never-0123456789abcdef");
            for (verb, never) in verbs(path, &id).into_iter().zip(never) {
                let before = world.count().await;
                for stranger in CALLERS.into_iter().filter(|caller| *caller != owner) {
                    let theirs = world.ask(&verb.clone().key(stranger)).await;
                    let nobodys = world.ask(&never.clone().key(stranger)).await;
                    assert_alike(Protocol::Responses, &theirs, &nobodys);
                }
                assert_eq!(world.count().await, before, "no provider heard of it");
                let own = world.ask(&verb.clone().key(owner)).await;
                assert_eq!(
                    own.status,
                    200,
                    "{} {}: {}",
                    verb.method,
                    verb.target,
                    own.text()
                );
                assert_eq!(world.count().await, before + 1);
            }
            if path == "/v1/uploads" {
                continue;
            }
            // A deleted id is forgotten: no provider receives another request for it.
            let before = world.count().await;
            let again = world
                .ask(&Request::get(&format!("{path}/{id}")).key(owner))
                .await;
            assert_error_body(Protocol::Responses, &again, 404);
            assert_eq!(world.count().await, before);
        }
    }
}

#[tokio::test]
async fn a_file_arrives_and_comes_back_byte_for_byte() {
    let world = Accounts::start().await;
    let upload = form("/v1/files", &[("purpose", "user_data")], CONTENT);
    let id = world.make(&upload).await;
    assert_eq!(
        world.simulator.last_body().await,
        upload.body.clone().unwrap()
    );
    let content = world
        .ask(&Request::get(&format!("/v1/files/{id}/content")))
        .await;
    assert_eq!((content.status, &content.body[..]), (200, CONTENT));
    let chunked = world.ask(&upload.clone().chunked(7)).await;
    assert_eq!(chunked.status, 200, "{}", chunked.text());
    assert_eq!(world.simulator.last_body().await, upload.body.unwrap());
}

#[tokio::test]
async fn what_lies_within_a_container_goes_with_it() {
    let world = Accounts::start().await;
    let create = Request::post("/v1/containers", json!({"name": "box"}).to_string());
    let container = world.make(&create.key(BOB)).await;
    let files = format!("/v1/containers/{container}/files");
    let added = world.ask(&form(&files, &[], CONTENT).key(BOB)).await.json();
    let file = format!("{files}/{}", added["id"].as_str().unwrap());
    let content = Request::get(&format!("{file}/content")).key(BOB);
    assert_eq!(world.ask(&content).await.body, CONTENT);
    let strangers = world.ask(&content.clone().key(ANN)).await;
    assert_error_body(Protocol::Responses, &strangers, 404);
    let delete = Request::new("DELETE", &file).key(BOB);
    assert_eq!(world.ask(&delete).await.status, 200);
    // The container still exists, and its id is still known.
    let list = world.ask(&Request::get(&files).key(BOB)).await;
    assert_eq!((list.status, &list.json()["data"]), (200, &json!([])));
}

#[tokio::test]
async fn a_request_goes_where_what_it_names_was_made() {
    let world = Accounts::start().await;
    let mut ids = Vec::new();
    for (_, create) in creates() {
        ids.push(world.make(&create.key(ANN)).await);
    }
    let [file, conversation, container, vector_store, _] = &ids[..] else {
        unreachable!()
    };
    let bodies = |file: &str, conversation: &str, container: &str, vector_store: &str| {
        let with_file =
            json!([{"role": "user", "content": [{"type": "input_file", "file_id": file}]}]);
        let tool = |container: Value| json!([{"type": "code_interpreter", "container": container}]);
        let search = json!([{"type": "file_search", "vector_store_ids": [vector_store]}]);
        [
            (
                "tools.0.vector_store_ids.0",
                json!({"input": "x", "tools": search}),
            ),
            (
                "conversation",
                json!({"input": "x", "conversation": conversation}),
            ),
            (
                "conversation.id",
                json!({"input": "x", "conversation": {"id": conversation}}),
            ),
            ("input.0.content.0.file_id", json!({"input": with_file})),
            (
                "tools.0.container",
                json!({"input": "x", "tools": tool(container.into())}),
            ),
            (
                "tools.0.container.file_ids.0",
                json!({"input": "x", "tools": tool(json!({"type": "auto", "file_ids": [file]}))}),
            ),
        ]
    };
    let never = bodies("file-never", "conv_never", "cntr_never", "vs_never");
    for ((at, mut body), (_, mut never)) in bodies(file, conversation, container, vector_store)
        .into_iter()
        .zip(never)
    {
        body["model"] = "demo-large".into();
        never["model"] = "demo-large".into();
        let to = |body: &Value, key| Request::to(Protocol::Responses, body.to_string()).key(key);
        // Both accounts serve the model, and the other one would refuse the id, so that success is not random.
        for _ in 0..6 {
            let answer = world.ask(&to(&body, ANN)).await;
            assert_eq!(answer.status, 200, "{at}: {}", answer.text());
        }
        let before = world.count().await;
        let theirs = world.ask(&to(&body, CAT)).await;
        assert_alike(
            Protocol::Responses,
            &theirs,
            &world.ask(&to(&never, CAT)).await,
        );
        assert_eq!(theirs.json()["error"]["param"], at);
        assert_eq!(theirs.json()["error"]["code"], "id_not_found");
        assert_eq!(world.count().await, before);
    }
}

#[tokio::test]
async fn ids_that_come_along_with_an_answer_are_known_too() {
    let world = Accounts::start().await;
    for turn in 0..12 {
        let body = json!({
            "model": "demo-large", "input": "Hello", "stream": turn % 2 == 0,
            "tools": [{"type": "code_interpreter", "container": {"type": "auto"}}],
        });
        let answer = world
            .ask(&Request::to(Protocol::Responses, body.to_string()))
            .await;
        world.gateway.log_of(&answer).await;
        let text = answer.text();
        let at = text.find("cntr_").expect("a container in the answer");
        let container = text[at..].split('"').next().unwrap();
        let path = format!("/v1/containers/{container}");
        assert_eq!(world.knowing(&path).await.len(), 1);
        assert_eq!(world.ask(&Request::get(&path)).await.status, 200, "{text}");
        let strangers = world.ask(&Request::get(&path).key(CAT)).await;
        assert_error_body(Protocol::Responses, &strangers, 404);
    }
}

#[tokio::test]
async fn containers_and_files_of_the_messages_protocol_are_followed() {
    let world = Accounts::with(|config| {
        let mut other = config["channels"]["messages"].clone();
        other["credential"]["api_key"] = "sk-upstream-other-canary-33c0".into();
        config["channels"]["other"] = other;
    })
    .await;
    let version = |request: Request| request.header("anthropic-version", "2023-06-01");
    let upload = version(form("/v1/files", &[], CONTENT)).without("authorization");
    let file = world.make(&upload.header("x-api-key", ANN)).await;
    let ask = |change: Value| {
        let mut body = json!({"model": "demo-large", "max_tokens": 100});
        body["messages"] = json!([{"role": "user", "content": "Hello"}]);
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        Request::to(Protocol::Messages, body.to_string())
    };
    let source = json!({"type": "document", "source": {"type": "file", "file_id": file}});
    let with_file = json!({"messages": [{"role": "user", "content": [source]}]});
    let tools = json!([{"type": "code_execution_20250825", "name": "code_execution"}]);
    for turn in 0..8 {
        let read = world.ask(&ask(with_file.clone())).await;
        assert_eq!(read.status, 200, "{}", read.text());
        let ran = ask(json!({"tools": tools, "stream": turn % 2 == 0}));
        let ran = world.ask(&ran).await;
        world.gateway.log_of(&ran).await;
        let text = ran.text();
        let at = text.find("cntr_").expect("a container in the answer");
        let container = text[at..].split('"').next().unwrap();
        let next = ask(json!({"tools": tools, "container": container}));
        let followed = world.ask(&next).await;
        assert_eq!(followed.status, 200, "{}", followed.text());
        let never = ask(json!({"tools": tools, "container": "cntr_never"})).key(CAT);
        let theirs = world.ask(&next.key(CAT)).await;
        assert_alike(Protocol::Messages, &theirs, &world.ask(&never).await);
    }
    let theirs = world.ask(&ask(with_file).key(CAT)).await;
    assert_error_body(Protocol::Messages, &theirs, 404);
}
