//! The table "What a caller gets" of docs/provider-errors.md: each failure with one channel, with two, and with another model.

use crate::harness::config::{self, channel};
use crate::harness::{Gateway, Request, Simulator, WholeResponse};
use headgate_protocol::Protocol;
use serde_json::{Value, json};

/// What the provider does, as a cell of the table, and the directives with which the simulator does it.
const FAILURES: [(&str, &str); 10] = [
    (
        "400 `context_length_exceeded`",
        "status=400;code=context_length_exceeded",
    ),
    (
        "400 `content_policy_violation`",
        "status=400;code=content_policy_violation",
    ),
    ("400 `invalid_value`", "status=400;code=invalid_value"),
    ("401 `invalid_api_key`", "status=401;code=invalid_api_key"),
    ("404 `model_not_found`", "status=404;code=model_not_found"),
    (
        "429 `rate_limit_exceeded`",
        "status=429;code=rate_limit_exceeded",
    ),
    (
        "429 `insufficient_quota`",
        "status=429;code=insufficient_quota",
    ),
    ("500 `server_error`", "status=500;code=server_error"),
    ("503 `overloaded`", "status=503;code=overloaded"),
    ("an HTML page under 200", "html"),
];

/// Model `first` on a channel that fails; with another channel, with another model, or with neither.
fn failing(simulator: &Simulator, directives: &str, other: Option<&str>) -> Value {
    let mut config = config::standard(&simulator.url());
    let url = simulator.url_obeying(directives);
    let mut first = channel(&url, &["chat"], json!({"bearer": "sk-1"}));
    first["models"] = json!({"first": "first"});
    let mut second = channel(&simulator.url(), &["chat"], json!({"bearer": "sk-2"}));
    second["models"] = json!({other.unwrap_or("unused"): "second"});
    second["tier"] = 1.into();
    config["channels"] = json!({"first": first, "second": second});
    config["models"] = match other {
        Some("other") => json!({"first": {"fallback": {"any": "other"}}}),
        _ => json!({}),
    };
    let routes = config["routes"].as_array_mut().unwrap();
    routes.retain(|route| route["name"] == "chat");
    config::without_cool_downs(&mut config);
    config
}

/// A reply as a cell of the table.
fn cell(response: &WholeResponse, served: &str) -> String {
    if response.status == 200 {
        return served.to_owned();
    }
    let code = &response.json()["error"]["code"];
    match code.as_str() {
        Some(code) => format!("{} `{code}`", response.status),
        None => response.status.to_string(),
    }
}

#[tokio::test]
async fn a_caller_gets_what_the_table_of_failures_has() {
    let simulator = Simulator::start().await;
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let asked = json!({"model": "first", "messages": messages}).to_string();
    let page = include_str!("../../../docs/provider-errors.md");
    let mut table = String::new();
    for (provider, directives) in FAILURES {
        let mut cells = vec![provider.to_owned()];
        for (other, served) in [
            (None, "the provider's response"),
            (Some("first"), "the other channel's response"),
            (Some("other"), "the other model's response"),
        ] {
            let gateway = Gateway::start(&failing(&simulator, directives, other)).await;
            let response = gateway
                .ask(&Request::to(Protocol::Chat, asked.clone()))
                .await;
            cells.push(cell(&response, served));
        }
        table.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    assert!(
        page.contains(&table),
        "docs/provider-errors.md needs these rows:\n{table}"
    );
}
