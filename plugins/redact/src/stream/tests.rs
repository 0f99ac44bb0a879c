//! Tests of streams: placeholders split at every place, in the forms of all protocols.

use super::StreamRestorer;
use crate::placeholder::PlaceholderTable;
use json_text::{decode, encode};

const CHAT: &str =
    r#"data: {"id":"c1","choices":[{"index":0,"delta":{"content":"@"},"finish_reason":null}]}"#;
const MESSAGES: &str = "event: content_block_delta\n\
    data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"@\"}}";
const RESPONSES: &str = "event: response.output_text.delta\n\
    data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"item_id\":\"m\",\"content_index\":0,\"delta\":\"@\"}";
const COMPLETION: &str = r#"data: {"choices":[{"index":0,"text":"@"}]}"#;
const TOOL: &str = r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"@"}}]}}]}"#;
const CHAT_END: &str = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const MESSAGES_END: &str = r#"data: {"type":"content_block_stop","index":0}"#;
const RESPONSES_END: &str = r#"data: {"type":"response.output_text.done","output_index":0,"item_id":"m","content_index":0,"text":"[EMAIL_1]"}"#;
const DONE: &str = "data: [DONE]";

fn restorer() -> StreamRestorer {
    let mut table = PlaceholderTable::default();
    table.placeholder("EMAIL", "ann@x.io");
    table.placeholder("PHONE", "+49 30 1234567");
    StreamRestorer::new(table)
}

/// The events that are sent for each event, and those at the end.
fn sent(events: &[String]) -> Vec<Vec<String>> {
    let mut stream = restorer();
    let mut sent: Vec<_> = events
        .iter()
        .map(|event| stream.push(format!("{event}\n\n").as_bytes()))
        .collect();
    sent.push(stream.finish());
    let split = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.split_terminator("\n\n").map(str::to_owned).collect()
    };
    sent.into_iter().map(split).collect()
}

/// An event with a text as part of its string.
fn filled(form: &str, text: &str) -> String {
    let mut string = String::new();
    encode(text, &mut string);
    form.replace('@', &string)
}

/// The texts of all events of a form, joined.
fn joined(form: &str, sent: &[Vec<String>]) -> String {
    let (head, tail) = form.split_once('@').unwrap();
    let texts = sent
        .iter()
        .flatten()
        .filter_map(|event| event.strip_prefix(head)?.strip_suffix(tail));
    texts.collect()
}

#[test]
fn a_placeholder_is_restored_wherever_it_is_split() {
    let text = "a\"[EMAIL_1]\n[[PHONE_1]]é[EMAIL_2] [x";
    let restored = "a\"ann@x.io\n[+49 30 1234567]é[EMAIL_2] [x";
    let forms = [
        (CHAT, CHAT_END),
        (MESSAGES, MESSAGES_END),
        (RESPONSES, RESPONSES_END),
        (COMPLETION, DONE),
        (TOOL, CHAT_END),
    ];
    for (form, end) in forms {
        let places = || (0..=text.len()).filter(|at| text.is_char_boundary(*at));
        for first in places() {
            for second in places().filter(|second| *second >= first) {
                let parts = [&text[..first], &text[first..second], &text[second..]];
                let mut events: Vec<_> = parts.iter().map(|part| filled(form, part)).collect();
                events.push(end.to_owned());
                let sent = sent(&events);
                assert_eq!(
                    decode(&joined(form, &sent)).text,
                    restored,
                    "{form}: {parts:?}"
                );
                // One event for each, and nothing more, since nothing is left to be held.
                assert!(
                    sent[..4].iter().all(|events| events.len() == 1),
                    "{parts:?}"
                );
            }
        }
    }
}

#[test]
fn character_by_character_each_byte_is_sent_at_the_first_moment() {
    let events: Vec<_> = "x[EMAIL_1][E ["
        .chars()
        .map(|part| CHAT.replace('@', &part.to_string()))
        .collect();
    let sent = sent(&events);
    let (head, tail) = CHAT.split_once('@').unwrap();
    let text = |events: &Vec<String>| {
        events
            .iter()
            .map(|event| {
                event
                    .strip_prefix(head)
                    .unwrap()
                    .strip_suffix(tail)
                    .unwrap()
            })
            .collect::<Vec<_>>()
            .join("|")
    };
    let texts: Vec<_> = sent.iter().map(text).collect();
    assert_eq!(
        texts,
        [
            "x", "", "", "", "", "", "", "", "", "ann@x.io", "", "", "[E ", "", "["
        ]
    );
}

#[test]
fn held_text_is_sent_before_the_event_that_ends_its_string() {
    for (form, end) in [
        (CHAT, CHAT_END),
        (MESSAGES, MESSAGES_END),
        (RESPONSES, RESPONSES_END),
        (CHAT, DONE),
    ] {
        let sent = sent(&[form.replace('@', "see [EMAIL"), end.to_owned()]);
        assert_eq!(sent[0], [form.replace('@', "see ")]);
        let end = end.replace("[EMAIL_1]", "ann@x.io");
        assert_eq!(sent[1], [form.replace('@', "[EMAIL"), end]);
        assert_eq!(sent[2], [""; 0]);
    }
    let sent = sent(&[CHAT.replace('@', "[EMAIL")]);
    assert_eq!(sent[1], [CHAT.replace('@', "[EMAIL")]);
}

#[test]
fn strings_are_kept_apart_by_their_indexes() {
    let event = |index: u32, text: &str| {
        CHAT.replace("\"index\":0", &format!("\"index\":{index}"))
            .replace('@', text)
    };
    let end = CHAT_END.replace("\"index\":0", "\"index\":1");
    let events = [
        event(0, "[EMA"),
        event(1, "[PHO"),
        event(0, "IL_1]"),
        end.clone(),
        event(1, "NE_1]"),
    ];
    let expected = [
        vec![event(0, "")],
        vec![event(1, "")],
        vec![event(0, "ann@x.io")],
        vec![event(1, "[PHO"), end],
        vec![event(1, "NE_1]")],
        vec![],
    ];
    assert_eq!(sent(&events), expected);
}

#[test]
fn an_event_that_ends_its_own_string_holds_nothing() {
    let event = CHAT.replace('@', "[EMAIL").replace("null", "\"length\"");
    assert_eq!(sent(std::slice::from_ref(&event)), [vec![event], vec![]]);
}

#[test]
fn an_event_of_held_text_has_only_its_own_delta() {
    let event = r#"data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"}},{"index":1,"delta":{"role":"assistant","tool_calls":[{"index":2,"id":"t","type":"function","function":{"name":"f","arguments":"[EM"}}]}}],"usage":null}"#;
    let held = r#"data: {"id":"c1","choices":[{"index":0,"delta":{}},{"index":1,"delta":{"tool_calls":[{"type":"function","index":2,"function":{"arguments":"[EM"}}]}}],"usage":null}"#;
    assert_eq!(
        sent(&[event.to_owned()]),
        [vec![event.replace("[EM", "")], vec![held.to_owned()]]
    );
}

#[test]
fn events_without_placeholders_are_sent_byte_for_byte() {
    for event in [
        ": keep-alive",
        "data: {\"choices\" : [ { \"index\":0, \"delta\":{\"content\":\"a\\u0020\\/ [1] \"} } ], \"n\": 1.50 }",
        "event: ping\ndata: {\"type\": \"ping\"}",
        "data: not JSON [EMAIL_1]",
        "data: {\"a\":\ndata: \"[EMAIL_1]\"}",
        "data:",
        "id: 1",
    ] {
        assert_eq!(sent(&[event.to_owned()]), [vec![event.to_owned()], vec![]]);
    }
}

#[test]
fn whole_strings_of_events_are_restored() {
    let event =
        r#"data: {"type":"response.completed","response":{"output":[{"text":"[EMAIL_1] [EMA"}]}}"#;
    assert_eq!(
        sent(&[event.to_owned()])[0],
        [event.replace("[EMAIL_1]", "ann@x.io")]
    );
}

#[test]
fn the_data_is_written_in_the_notation_of_its_string() {
    let mut table = PlaceholderTable::default();
    table.placeholder("QUOTE", "\"q\"");
    for (form, restored) in [
        (CHAT, r#"\"q\""#),
        (TOOL, r#"\\\"q\\\""#),
        (
            &RESPONSES.replace("output_text", "function_call_arguments"),
            r#"\\\"q\\\""#,
        ),
    ] {
        let mut stream = StreamRestorer::new(PlaceholderTable::default());
        std::mem::swap(&mut stream.table, &mut table);
        let event = format!("{}\n\n", form.replace('@', "[QUOTE_1]"));
        let sent = stream.push(event.as_bytes());
        assert_eq!(
            String::from_utf8(sent).unwrap(),
            format!("{}\n\n", form.replace('@', restored))
        );
        table = stream.table;
    }
}

#[test]
fn a_stream_that_arrives_in_pieces_is_restored() {
    let stream = format!(
        "{}\r\n\r\n{}\r\n\r\n{DONE}\r\n\r\n",
        CHAT.replace('@', "[EMA"),
        CHAT.replace('@', "IL_1] é")
    );
    for at in 0..=stream.len() {
        let mut restorer = restorer();
        let mut sent = restorer.push(&stream.as_bytes()[..at]);
        sent.extend(restorer.push(&stream.as_bytes()[at..]));
        sent.extend(restorer.finish());
        let expected = stream.replace("[EMA", "").replace("IL_1]", "ann@x.io");
        assert_eq!(String::from_utf8(sent).unwrap(), expected, "{at}");
    }
}
