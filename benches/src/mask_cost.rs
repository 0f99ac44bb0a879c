//! Masks events and does nothing else; `benches/run.sh mask` counts the instructions per event.

use bytes::Bytes;
use headgate_protocol::mask::{ChannelSecrets, SecretMasker};
use std::hint::black_box;
use std::sync::Arc;

/// An event, and the number of secrets that are searched for in it.
const CASES: [(&str, usize, &str); 5] = [
    ("text", 1, r#""content":"The water runs""#),
    ("line ends and quotes", 1, r#""content":"a\n\"b\"\n\tc""#),
    (
        "escaped brackets",
        1,
        r#""content":"\u003cp\u003ea\u003c/p\u003e""#,
    ),
    ("text, 20 keys alike", 20, r#""content":"The water runs""#),
    ("text, no secret", 0, r#""content":"The water runs""#),
];

/// Masks EVENTS events of one case: `CASE EVENTS`.
fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<usize>().ok());
    let (Some(case), Some(events)) = (number(), number()) else {
        for (index, (name, ..)) in CASES.iter().enumerate() {
            println!("{index} {name}");
        }
        return;
    };
    let (_, keys, content) = CASES[case];
    let keys: Vec<String> = (0..keys)
        .map(|key| format!("sk-proj-{key:02}-0123456789abcdefghijklmnopqrstuvwxyz"))
        .collect();
    let secrets = Arc::new(ChannelSecrets::new(keys.iter().map(String::as_str)));
    let mut masker = SecretMasker::new(secrets);
    let event = Bytes::from(format!(
        "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
         \"choices\":[{{\"index\":0,\"delta\":{{{content}}},\"finish_reason\":null}}]}}\n\n"
    ));
    for _ in 0..events {
        black_box(masker.push(black_box(event.clone())));
    }
}
