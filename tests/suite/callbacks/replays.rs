//! One callback that arrives again and again: while its task runs, and after its end.

use crate::harness::connection::Connection;
use crate::harness::receiver::CallbackSetup;
use crate::harness::state_file::StateFile;
use crate::harness::video::{GENERIC, count};
use crate::harness::{Request, eventually};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const REPLAYS: usize = 20;
/// How long each query takes at the provider. No reply to a callback waits for one.
const QUERY: Duration = Duration::from_secs(3);

/// Sends the callback twenty times at once; returns how long each reply took.
async fn replay(setup: &CallbackSetup, token: &str) -> Vec<Duration> {
    let mut sent = JoinSet::new();
    for _ in 0..REPLAYS {
        let request = Request::post(&format!("/_headgate/callback/{token}"), "{}");
        let request = request.without("authorization");
        let address = setup.gateway.address;
        sent.spawn(async move {
            let mut connection = Connection::to(address).await;
            let began = Instant::now();
            let response = connection.ask(&request).await;
            assert_eq!(response.status, 200, "{}", response.text());
            began.elapsed()
        });
    }
    sent.join_all().await
}

#[tokio::test]
async fn a_callback_that_arrives_twenty_times_is_one_event_for_each_change_and_few_queries() {
    let state = StateFile::new();
    let directives = "queue=2s;run=8s;slow_query=3s;callback_fault=lost";
    let setup =
        CallbackSetup::with(directives, |config| config["state"] = json!(state.url())).await;
    setup.create(GENERIC, "demo-video-a").await;
    let began = Instant::now();
    let token = setup.provider_token().await;
    let mut took = replay(&setup, &token).await;
    setup.receiver.wait_for(1).await;
    took.extend(replay(&setup, &token).await);
    // The task ends, and its callback arrives until that is known.
    let mut replays = took.len();
    let after_end = eventually("the end", async || {
        replays += 1;
        let reply = setup.call_back(&token).await;
        (reply.status == 404).then_some(reply)
    })
    .await;
    let queried_for = began.elapsed();
    let events = setup.receiver.wait_for(2).await;
    let statuses = events.iter().map(|event| event.json()["status"].clone());
    assert_eq!(statuses.collect::<Vec<_>>(), ["running", "succeeded"]);
    // Queries that have begun end, and no event waits.
    tokio::time::sleep(QUERY).await;
    eventually("no event waits", async || {
        state.records("delivery").is_empty().then_some(())
    })
    .await;
    let queries = count(&setup.simulator, "query").await;
    // They begin at least a second apart.
    let bound = queried_for.as_secs() + 2;
    assert!(queries as u64 <= bound, "{queries} in {queried_for:?}");
    took.sort_unstable();
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    assert!(longest < QUERY, "a reply waited for a query: {longest:?}");
    println!(
        "callbacks: {replays} replays of one callback while its task runs: 2 events, {queries} queries in {queried_for:?}; replies to {REPLAYS} at once within {median:?} (median), {longest:?} (longest)"
    );

    let before = state.records("subscription");
    for _ in 0..REPLAYS {
        let reply = setup.call_back(&token).await;
        assert_eq!(reply.status, after_end.status, "{}", reply.text());
    }
    let unknown = setup.call_back("x").await.json();
    assert_eq!(unknown["error"]["code"], after_end.json()["error"]["code"]);
    // Longer than the worker takes to find what is due.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(state.records("subscription"), before);
    assert_eq!(state.records("delivery"), []);
    assert_eq!(count(&setup.simulator, "query").await, queries);
    assert_eq!(setup.receiver.events().len(), 2);
    println!(
        "callbacks: {REPLAYS} replays after the end: the same 404, no change of state, no query"
    );
}
