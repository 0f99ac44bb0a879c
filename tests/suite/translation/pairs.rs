//! Every pair of protocols, whole and streamed, with a provider that speaks only the other one.

use super::{config_for, events_of};
use crate::harness::{Gateway, PROTOCOLS, Request, Simulator, path_of};
use headgate_protocol::Protocol;
use serde_json::Value;

/// The text of a whole response.
fn text_of_whole(protocol: Protocol, body: &Value) -> String {
    let text = match protocol {
        Protocol::Chat => &body["choices"][0]["message"]["content"],
        Protocol::Messages => &body["content"][0]["text"],
        _ => &body["output"][0]["content"][0]["text"],
    };
    text.as_str()
        .unwrap_or_else(|| panic!("no text in {body}"))
        .to_owned()
}

/// The text of a stream, and whether it ends as its protocol demands.
fn text_of_stream(protocol: Protocol, events: &[(String, Value)]) -> (String, bool) {
    let delta = |(_, event): &(String, Value)| {
        let text = match protocol {
            Protocol::Chat => &event["choices"][0]["delta"]["content"],
            Protocol::Messages => &event["delta"]["text"],
            _ if event["type"] == "response.output_text.delta" => &event["delta"],
            _ => &Value::Null,
        };
        text.as_str().map(str::to_owned)
    };
    let (name, last) = events.last().expect("events");
    let is_whole = match protocol {
        Protocol::Chat => last == "[DONE]",
        Protocol::Messages => name == "message_stop",
        _ => name == "response.completed",
    };
    (events.iter().filter_map(delta).collect(), is_whole)
}

#[tokio::test]
async fn each_protocol_is_served_by_channels_of_each_other_one() {
    let simulator = Simulator::start().await;
    for caller in PROTOCOLS {
        for channel in PROTOCOLS {
            if caller == channel {
                continue;
            }
            let pair = format!("{}->{}", caller.name(), channel.name());
            let config = config_for(caller.name(), channel.name(), &simulator.url());
            let gateway = Gateway::start(&config).await;
            let whole = gateway.ask(&Request::ask(caller)).await;
            assert_eq!(whole.status, 200, "{pair}: {}", whole.text());
            let text = text_of_whole(caller, &whole.json());
            assert!(!text.is_empty(), "{pair}");
            let translation = whole.headers.get("x-headgate-translation");
            assert!(
                translation.is_some_and(|it| it.starts_with(&pair)),
                "{pair}"
            );
            assert_eq!(simulator.last().await["path"], path_of(channel), "{pair}");
            let log = gateway.log_of(&whole).await;
            assert_eq!(log["settlement"], "complete", "{pair}: {log}");

            let streamed = gateway.ask(&Request::ask_stream(caller)).await;
            assert_eq!(streamed.status, 200, "{pair}: {}", streamed.text());
            let events = events_of(&streamed.text());
            let (of_stream, is_whole) = text_of_stream(caller, &events);
            assert_eq!(of_stream, text, "{pair}: {events:?}");
            assert!(is_whole, "{pair}: {events:?}");
            let log = gateway.log_of(&streamed).await;
            assert_eq!(log["settlement"], "complete", "{pair}: {log}");
            assert!(log["output_tokens"].as_u64() > Some(0), "{pair}: {log}");
        }
    }
}
