//! Tests of what a batch counts against the limits of its caller.

use crate::harness::batches::{
    batch_config, create, create_messages, entry, line, received, upload, upload_lines,
};
use crate::harness::{Gateway, Simulator};
use serde_json::{Value, json};

/// A gateway whose caller may use so many tokens in a minute.
async fn gateway_with_tokens(simulator: &Simulator, tokens: u64) -> Gateway {
    let mut config: Value = batch_config(&simulator.url(), &simulator.url());
    config["callers"][0]["limits"] = json!({"tokens_per_minute": tokens});
    Gateway::start(&config).await
}

#[tokio::test]
async fn a_batch_counts_the_tokens_of_all_requests_at_half_their_price() {
    let simulator = Simulator::start().await;
    // Each request: about 22 tokens of input and 1024 of output, half of which count.
    let gateway = gateway_with_tokens(&simulator, 1200).await;
    let lines: Vec<String> = (0..2)
        .map(|index| line(&index.to_string(), "demo-small"))
        .collect();
    let file = upload_lines(&gateway, &lines).await;
    let before = received(&simulator).await;
    let first = gateway.ask(&create(&file)).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let second = gateway.ask(&create(&file)).await;
    assert_eq!(second.status, 429, "{}", second.text());
    assert_eq!(received(&simulator).await, before + 1);
}

#[tokio::test]
async fn an_upload_counts_no_tokens_and_a_batch_that_is_too_large_is_refused() {
    let simulator = Simulator::start().await;
    let gateway = gateway_with_tokens(&simulator, 1200).await;
    let lines: Vec<String> = (0..9)
        .map(|index| line(&index.to_string(), "demo-small"))
        .collect();
    for _ in 0..3 {
        let made = gateway.ask(&upload(lines.join("\n"))).await;
        assert_eq!(made.status, 200, "{}", made.text());
    }
    let small = create_messages(&json!([entry("a", "demo-small")]));
    let made = gateway.ask(&small).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let file = upload_lines(&gateway, &lines).await;
    assert_eq!(gateway.ask(&create(&file)).await.status, 429);
}
