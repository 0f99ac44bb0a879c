//! Tests of the connections of requests that must not be sent twice: each gets a fresh one.

use crate::harness::http_response::json_response;
use crate::harness::http2_provider::Http2Provider;
use crate::harness::video::{FAMILY_A, FAMILY_B, GENERIC, ask, create, id_of, video_config};
use crate::harness::{
    Gateway, Request, ScriptedProvider, ScriptedResponse, Simulator, TestSetup, config,
};
use headgate_protocol::Protocol;
use serde_json::json;
use std::sync::atomic::Ordering;

const CREATES: usize = 20;

/// A response to a create or to a query, of both families.
fn task(_request: &str) -> Vec<u8> {
    let output = json!({"task_id": "up-12345678", "task_status": "RUNNING"});
    let body = json!({"id": "up-12345678", "status": "running", "output": output});
    json_response(200, body)
}

#[tokio::test]
async fn a_provider_that_resets_every_reused_connection_gets_each_create_once() {
    let provider = ScriptedProvider::start(vec![
        ScriptedResponse::Answer(task),
        ScriptedResponse::Read,
        ScriptedResponse::Reset,
    ])
    .await;
    let simulator = Simulator::start().await;
    let mut config = video_config(&simulator, "");
    for channel in ["a", "b"] {
        config["channels"][channel]["base_url"] = json!(provider.url());
    }
    let gateway = Gateway::start(&config).await;
    for (path, model) in [
        (GENERIC, "demo-video-a"),
        (FAMILY_A, "demo-video-a"),
        (FAMILY_B, "demo-video-b"),
    ] {
        let before = provider.requests().len();
        for n in 0..CREATES {
            let created = create(&gateway, path, model).await;
            assert_eq!(
                created.status,
                200,
                "{path}, create {n}: {}",
                created.text()
            );
        }
        let requests = provider.requests();
        let posts = requests[before..].iter();
        let posts = posts.filter(|request| request.starts_with("POST "));
        assert_eq!(posts.count(), CREATES, "{path}");
    }
    // A query may use the connection of a create; it is sent again on a fresh one.
    let created = create(&gateway, GENERIC, "demo-video-a").await;
    gateway.log_of(&created).await;
    let connections = provider.connections().len();
    let queried = ask(&gateway, GENERIC, &id_of(GENERIC, &created)).await;
    assert_eq!(queried.status, 200, "{}", queried.text());
    let of_query = provider.connections().split_off(connections);
    assert_eq!(of_query.len(), 2, "the first one was reused: {of_query:?}");
}

#[tokio::test]
async fn background_responses_get_connections_of_their_own_on_http2_too() {
    let provider = Http2Provider::start(&[]).await;
    let world = TestSetup::with(|config| {
        config["channels"]["openai"]["base_url"] = json!(provider.url());
        config["channels"]["openai"]["http"] = json!("http2");
        config::without_cool_downs(config);
    })
    .await;
    let connections = || provider.connections.load(Ordering::SeqCst);
    for n in 1..=3 {
        let mut body = crate::harness::body_of(Protocol::Responses);
        body["background"] = json!(true);
        let request = Request::to(Protocol::Responses, body.to_string());
        world.ask(&request).await;
        assert_eq!(connections(), n);
    }
    let answer = world.ask(&Request::ask(Protocol::Chat)).await;
    assert_eq!(answer.status, 200);
    assert_eq!(connections(), 3, "others may use them");
}
