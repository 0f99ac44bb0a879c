//! Tests of the retry budget: what is charged to it.

use crate::harness::config::{self, channel};
use crate::harness::{Gateway, Request, Simulator};
use headgate_protocol::Protocol;
use serde_json::json;

#[tokio::test]
async fn a_retry_that_is_not_sent_is_not_charged_to_the_budget() {
    let provider = Simulator::start().await;
    let mut config = config::standard(&provider.url());
    for name in ["openai", "second"] {
        config["channels"][name] = channel(
            &provider.url(),
            &["chat", "responses"],
            json!({"bearer": "sk-one"}),
        );
    }
    config::without_cool_downs(&mut config);
    // Each request earns a quarter of a retry.
    config["retries"] = json!({"budget_percent": 25, "min_per_second": 0});
    // A filter refuses the second attempt of a chat before it is sent: there it divides by zero.
    let step = json!({"if": "10 / (2 - attempt) > 0", "set_headers": {"x-pool": "fast"}, "on_error": "refuse"});
    let chain = config::route(&mut config, "chat")["request"].as_array_mut();
    chain.unwrap().push(step);
    let gateway = Gateway::start(&config).await;
    let failing_once = |protocol, status: u16| {
        let directives = format!("status={status};times=1");
        Request::ask(protocol).simulate(&directives)
    };

    for _ in 0..3 {
        let response = gateway.ask(&Request::ask(Protocol::Responses)).await;
        assert_eq!(response.status, 200, "{}", response.text());
    }
    let refused = gateway.ask(&failing_once(Protocol::Chat, 500)).await;
    assert_eq!(refused.status, 500, "{}", refused.text());
    assert_eq!(gateway.log_of(&refused).await["attempts"], 2);
    assert_eq!(provider.records().await.len(), 4);

    // Five requests have earned one retry, which is still there, and no other.
    let retried = gateway.ask(&failing_once(Protocol::Responses, 502)).await;
    assert_eq!(retried.status, 200, "{}", retried.text());
    assert_eq!(gateway.log_of(&retried).await["attempts"], 2);
    let denied = gateway.ask(&failing_once(Protocol::Responses, 503)).await;
    assert_eq!(denied.status, 503, "{}", denied.text());
    assert_eq!(gateway.log_of(&denied).await["attempts"], 1);
}
