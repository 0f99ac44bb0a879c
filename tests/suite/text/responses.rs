//! Tests of responses that continue earlier ones: they go to the same account, and only for the same caller.

use crate::harness::error_shape::assert_alike;
use crate::harness::request::BOB;
use crate::harness::{Gateway, Request, Simulator, config};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// Two accounts at two providers, with equal weight.
struct TwoAccounts {
    gateway: Gateway,
    providers: [Simulator; 2],
}

impl TwoAccounts {
    async fn start() -> Self {
        let providers = [Simulator::start().await, Simulator::start().await];
        let mut config = config::standard(&providers[0].url());
        let mut second = config["channels"]["openai"].clone();
        second["base_url"] = providers[1].url().into();
        config["channels"]["second"] = second;
        Self {
            gateway: Gateway::start(&config).await,
            providers,
        }
    }

    /// Creates a response and returns its id.
    async fn create(&self, body: &Value) -> String {
        let request = Request::to(Protocol::Responses, body.to_string());
        let answer = self.gateway.ask(&request).await;
        assert_eq!(
            (answer.status, answer.whole),
            (200, true),
            "{}",
            answer.text()
        );
        // The gateway has recorded the id once the log has it.
        let line = self.gateway.log_of(&answer).await;
        let id = line["response_id"].as_str().expect("an id in the log");
        assert!(answer.text().contains(id), "{}", answer.text());
        id.to_string()
    }

    /// The provider that created this response.
    async fn maker(&self, id: &str) -> usize {
        let mut makers = Vec::new();
        for (index, provider) in self.providers.iter().enumerate() {
            let path = format!("/v1/responses/{id}");
            let request = Request::get(&path).key(config::CREDENTIALS[0]);
            let mut connection = crate::harness::Connection::to(provider.address).await;
            if connection.ask(&request).await.status == 200 {
                makers.push(index);
            }
        }
        assert_eq!(makers.len(), 1, "{id} was made once");
        makers[0]
    }

    /// The number of requests that each provider has received.
    async fn counts(&self) -> [usize; 2] {
        let [first, second] = &self.providers;
        [first.records().await.len(), second.records().await.len()]
    }
}

#[tokio::test]
async fn a_conversation_stays_with_the_account_that_began_it() {
    let world = TwoAccounts::start().await;
    let mut makers = [0; 2];
    for turn in 0..24 {
        let streamed = turn % 2 == 0;
        let mut body = json!({"model": "demo-large", "input": "Hello", "stream": streamed});
        let mut id = world.create(&body).await;
        let maker = world.maker(&id).await;
        makers[maker] += 1;
        for _ in 0..2 {
            body["previous_response_id"] = id.into();
            // A provider knows only its own responses, so that another one would respond 404.
            id = world.create(&body).await;
            assert_eq!(world.maker(&id).await, maker);
        }
    }
    assert!(makers.iter().all(|made| *made > 0), "{makers:?}");
}

#[tokio::test]
async fn a_response_is_read_cancelled_and_deleted_where_it_was_made() {
    let world = TwoAccounts::start().await;
    for turn in 0..8 {
        let streamed = turn % 2 == 0;
        let id = world
            .create(&json!({"model": "demo-large", "input": "Hello", "stream": streamed}))
            .await;
        let path = format!("/v1/responses/{id}");
        let read = world.gateway.ask(&Request::get(&path)).await;
        assert_eq!((read.status, &read.json()["id"]), (200, &json!(id)));
        let items = world
            .gateway
            .ask(&Request::get(&format!("{path}/input_items?limit=5")))
            .await;
        assert_eq!(items.json()["object"], "list", "{}", items.text());
        let maker = &world.providers[world.maker(&id).await];
        let received = maker.records().await;
        let with_query = |record: &Value| record["path"].as_str().unwrap().ends_with("?limit=5");
        assert!(received.iter().any(with_query), "the query arrives too");
        let deleted = world.gateway.ask(&Request::new("DELETE", &path)).await;
        assert_eq!(
            (deleted.status, &deleted.json()["deleted"]),
            (200, &json!(true))
        );
        assert_eq!(world.gateway.ask(&Request::get(&path)).await.status, 404);
    }
}

#[tokio::test]
async fn a_background_response_can_be_cancelled() {
    let world = TwoAccounts::start().await;
    for _ in 0..6 {
        let id = world
            .create(&json!({"model": "demo-large", "input": "Hello", "background": true}))
            .await;
        let cancel = Request::new("POST", &format!("/v1/responses/{id}/cancel"));
        let cancelled = world
            .gateway
            .ask(&cancel.header("Content-Length", "0"))
            .await;
        assert_eq!(
            cancelled.json()["status"],
            "cancelled",
            "{}",
            cancelled.text()
        );
    }
}

#[tokio::test]
async fn a_response_of_another_caller_is_as_unknown_as_one_that_never_was() {
    let world = TwoAccounts::start().await;
    let id = world
        .create(&json!({"model": "demo-small", "input": "Hello"}))
        .await;
    let before = world.counts().await;
    for (method, suffix) in [
        ("GET", ""),
        ("DELETE", ""),
        ("POST", "/cancel"),
        ("GET", "/input_items"),
    ] {
        let ask = async |id: &str| {
            let request = Request::new(method, &format!("/v1/responses/{id}{suffix}"));
            world.gateway.ask(&request.key(BOB)).await
        };
        let (theirs, nobodys) = (ask(&id).await, ask("resp_0123456789abcdef").await);
        assert_alike(Protocol::Responses, &theirs, &nobodys);
    }
    let follow = async |id: &str| {
        let body = json!({"model": "demo-small", "input": "x", "previous_response_id": id});
        let request = Request::to(Protocol::Responses, body.to_string());
        world.gateway.ask(&request.key(BOB)).await
    };
    let nobodys = follow("resp_0123456789abcdef").await;
    assert_alike(Protocol::Responses, &follow(&id).await, &nobodys);
    assert_eq!(world.counts().await, before, "no provider heard of it");
    assert_eq!(
        world
            .gateway
            .ask(&Request::get(&format!("/v1/responses/{id}")))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn an_id_that_is_no_id_never_becomes_part_of_a_path() {
    let world = TwoAccounts::start().await;
    for id in [
        "..",
        "%2e%2e",
        "a%2Fb",
        "a%00",
        "a%0d%0aX-A:b",
        "a;b",
        "%20",
        "resp_1/../x",
    ] {
        let answer = world
            .gateway
            .ask(&Request::get(&format!("/v1/responses/{id}")))
            .await;
        assert!(
            matches!(answer.status, 400 | 404),
            "{id}: {}",
            answer.text()
        );
    }
    assert_eq!(world.counts().await, [0, 0]);
}
