//! Tests that channel state survives reloads, and ends with the last configuration that has the channel.

use crate::harness::{Request, TestSetup, WholeResponse, config, eventually};
use headgate_protocol::Protocol;
use serde_json::{Value, json};
use std::time::Duration;

async fn reload(world: &TestSetup, config: &Value) {
    world
        .gateway
        .folder
        .replace("routes.yaml", format!("{config:#}"));
    let answer = world.gateway.page("POST", "/reload").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Reloads without the channel `openai`, waits until its state is dropped, and reloads with it again.
async fn remove_and_add(world: &TestSetup, with: &Value) {
    let mut without = with.clone();
    without["channels"]
        .as_object_mut()
        .unwrap()
        .remove("openai");
    reload(world, &without).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    reload(world, with).await;
}

async fn ask(world: &TestSetup) -> WholeResponse {
    world.ask(&Request::ask(Protocol::Chat)).await
}

#[tokio::test]
async fn a_channel_that_was_removed_and_added_again_has_no_past() {
    let world = TestSetup::start().await;
    let mut config = config::standard(&world.simulator.url());
    // An idle connection does not keep a configuration alive.
    let mut idle = world.gateway.connect().await;
    assert_eq!(idle.ask(&Request::get("/v1/models")).await.status, 200);
    world.simulator.obey("status=429; retry_after=600").await;
    assert_eq!(ask(&world).await.status, 429);
    world.simulator.obey("").await;
    // A reload that keeps the channel keeps its state.
    config["models"]["demo-large"]["created"] = 1.into();
    reload(&world, &config).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(ask(&world).await.status, 503);
    remove_and_add(&world, &config).await;
    let answer = ask(&world).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn what_is_under_way_on_a_removed_channel_still_counts() {
    let world = TestSetup::with(|config| {
        config["channels"]["openai"]["limits"] = json!({"concurrent": 1});
    })
    .await;
    let mut config = config::standard(&world.simulator.url());
    config["channels"]["openai"]["limits"] = json!({"concurrent": 1});
    let stream = Request::ask_stream(Protocol::Chat).simulate("pace=50ms; events=5000");
    let mut reply = world.open(&stream).await;
    reply.until("data:").await;
    remove_and_add(&world, &config).await;
    assert_eq!(ask(&world).await.status, 503, "its only place is taken");
    drop(reply);
    let again = async || (ask(&world).await.status == 200).then_some(());
    eventually("room again", again).await;
}
