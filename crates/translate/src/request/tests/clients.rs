//! Requests of real clients.

use super::{pair, translated};
use crate::ModelFeatures;
use headgate_protocol::conversation::ConversationFormat::{Chat, Messages};
use serde_json::Value;

const CHAT: &str = include_str!("../../../../../tests/fixtures/schemas/chat/accept/clients.json");
const MESSAGES: &str =
    include_str!("../../../../../tests/fixtures/schemas/messages/accept/clients.json");

/// The members for which requests are refused, by case.
const REFUSED: [(&str, &[&str]); 4] = [
    (
        "LangChain: stream with usage",
        &["logprobs", "top_logprobs"],
    ),
    (
        "every field at once",
        &[
            "audio",
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "n",
            "presence_penalty",
            "top_logprobs",
            "web_search_options",
        ],
    ),
    ("Vercel AI SDK: cached system and a PDF", &["tools[1]"]),
    (
        "a coding client: long cached conversation",
        &[
            "messages[1].content[0]",
            "messages[1].content[1]",
            "tools[1]",
        ],
    ),
];

#[test]
fn requests_of_clients_are_translated_or_refused_for_what_they_ask() {
    let pairs = [
        (pair(Chat, Messages), CHAT),
        (pair(Messages, Chat), MESSAGES),
    ];
    for (pair, cases) in pairs {
        for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
            let name = case["case"].as_str().unwrap();
            let (sent, ledger) = translated(pair, &case["body"], ModelFeatures::default());
            assert!(!sent["messages"].as_array().unwrap().is_empty());
            let refusals = ledger.iter().filter(|entry| entry.contains("Refused "));
            let paths: Vec<_> = refusals.filter_map(|it| it.split(' ').nth(1)).collect();
            let expected = REFUSED.iter().find(|(case, _)| *case == name);
            assert_eq!(
                paths,
                expected.map_or(&[][..], |(_, paths)| paths),
                "{name}"
            );
        }
    }
}
