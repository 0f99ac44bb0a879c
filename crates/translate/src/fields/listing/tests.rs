//! What is listed of a request.

use crate::fields::listing::{LINES_MAX, MemberList};
use crate::{ChannelSettings, ModelFeatures, ProtocolPair, list_members, translate_request};
use bytes::Bytes;
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages, Responses};
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Value, json};

fn listed(caller: ConversationFormat, channel: ProviderFormat, body: &Value) -> MemberList {
    let body = Bytes::from(body.to_string());
    let document = JsonDocument::parse(body, &JsonLimits::default()).unwrap();
    let pair = ProtocolPair { caller, channel };
    let settings = ChannelSettings {
        model: "\"m\"".into(),
        max_output_tokens: 100,
        has_call_ids: true,
        features: ModelFeatures::default().into(),
        sealer: None,
    };
    let ledger = translate_request(pair, &document, &settings).ledger;
    list_members(pair, &document, &ledger)
}

/// Sign, path, count, and the reason up to the way out.
fn lines(list: &MemberList) -> Vec<String> {
    let members = list.members.iter();
    let lines = members.map(|member| {
        let reason = member.reason.split(';').next().unwrap();
        format!("{} {} {} {reason}", member.sign, member.path, member.count)
    });
    lines.map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn each_member_has_one_line_with_what_becomes_of_it() {
    let body = json!({
        "model": "m", "max_tokens": 5, "speed": "fast", "color": 1, "top_k": null,
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
            {"role": "user", "content": [
                {"type": "text", "text": "c", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "d"},
            ]},
        ],
        "tools": [
            {"name": "f", "input_schema": {"type": "object"}},
            {"type": "web_search_20250305", "name": "web_search"},
        ],
    });
    let lines = lines(&listed(Messages, ProviderFormat::Chat, &body));
    let with = |start: &str| {
        let found: Vec<&String> = lines
            .iter()
            .filter(|line| line.starts_with(start))
            .collect();
        assert_eq!(found.len(), 1, "{start}: {lines:#?}");
    };
    for start in [
        "= max_tokens 1",
        "· model 1",
        "× speed 1 ",
        "! color 1 is not a member that",
        "· top_k 1",
        "= messages[0].role 3",
        "= messages[0].content 1",
        "= messages[1].content[0].text 3",
        "× messages[2].content[0].cache_control 1 ",
        "= tools[0].name 1",
        "= tools[0].input_schema 1",
        "! tools[1] 1 has the type `web_search_20250305`",
    ] {
        with(start);
    }
    let position = |start: &str| lines.iter().position(|line| line.starts_with(start));
    assert!(
        position("! color") < position("= messages[0].role"),
        "{lines:#?}"
    );
    assert!(
        position("= messages[0].role") < position("× speed"),
        "{lines:#?}"
    );
    let below_lost =
        |line: &String| line.contains("cache_control.") || line.contains("web_search.");
    assert!(!lines.iter().any(below_lost), "{lines:#?}");
}

#[test]
fn a_value_that_is_not_carried_exactly_is_no_member_that_is() {
    let body =
        json!({"model": "m", "temperature": 1.5, "messages": [{"role": "user", "content": "a"}]});
    let lines = lines(&listed(Chat, ProviderFormat::Messages, &body));
    let of_temperature: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("temperature"))
        .collect();
    assert_eq!(of_temperature.len(), 1, "{lines:#?}");
    assert!(
        of_temperature[0].starts_with("~ temperature 1 "),
        "{lines:#?}"
    );
}

#[test]
fn what_has_no_place_in_the_request_is_listed_too() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
    let list = listed(Chat, ProviderFormat::Messages, &body);
    let lines = lines(&list);
    assert!(
        lines.iter().any(|line| line.starts_with("~ max_tokens 1 ")),
        "{lines:#?}"
    );
}

#[test]
fn a_list_is_bounded_and_counts_the_rest() {
    let members = (0..1000).map(|number| (format!("a{number}"), json!(1)));
    let mut body: serde_json::Map<String, Value> = members.collect();
    body.insert("model".into(), json!("m"));
    body.insert("input".into(), json!("a"));
    let list = listed(Responses, ProviderFormat::Chat, &body.into());
    assert!(
        list.members.len() <= LINES_MAX + 64,
        "{}",
        list.members.len()
    );
    let named = list
        .members
        .iter()
        .filter(|member| member.path.starts_with('a'))
        .count();
    assert!(
        named > 60 && list.left_out > 700,
        "{named} {}",
        list.left_out
    );
}
