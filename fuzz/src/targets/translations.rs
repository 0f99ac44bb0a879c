//! Translations of streams: well-formed events in the caller's protocol come of whatever a provider sends, in any pieces.
//!
//! An input is a pair such as `messages->chat`, with words for what the gateway knows of the request, and after a line with
//! `--` the provider's stream.

use crate::input::{cuts, parse_json, parts};
use crate::translation_context::{CALLERS, KeylessSealer, find_pair};
use bytes::Bytes;
use headgate_protocol::conversation::ConversationFormat;
use headgate_protocol::sse::{SseDecoder, SseEvent};
use headgate_translate::{
    Ledger, ProtocolPair, RenamedTool, ResponseContext, StreamTranslator, ThinkingSealer,
    translate_response, translate_token_count,
};
use std::sync::Arc;

const EVENT_BYTES_MAX: usize = 1 << 20;

pub fn run(input: &[u8]) {
    let [head, stream] = parts(input);
    let head = String::from_utf8_lossy(head);
    let mut words = head.split(' ');
    let Some(pair) = words.next().and_then(find_pair) else {
        return;
    };
    let context = new_context(words);
    let whole = translate(pair, &context, &[stream]);
    for pieces in cuts(stream) {
        assert_eq!(
            bytes(&translate(pair, &context, &pieces).0),
            bytes(&whole.0),
            "the stream in pieces"
        );
    }
    check_events(pair, &whole.0);
    check_second_reading(pair, &whole);
    let body = Bytes::copy_from_slice(stream);
    let mut ledger = Ledger::default();
    if let Ok(translated) = translate_response(pair, &body, &context, &mut ledger) {
        let parsed = parse_json(&translated);
        assert!(
            parsed.is_none_or(|body| body.is_object()),
            "the body is no object"
        );
    }
    if let Ok(count) = translate_token_count(pair, &body) {
        parse_json(&count);
    }
}

/// The caller's events, and whether all of the provider's could be read.
fn translate(
    pair: ProtocolPair,
    context: &ResponseContext,
    pieces: &[&[u8]],
) -> (Vec<SseEvent>, bool) {
    let mut translator = StreamTranslator::new(pair, context.clone());
    let mut decoder = SseDecoder::new(EVENT_BYTES_MAX);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(&Bytes::copy_from_slice(piece));
        while let Some(event) = decoder.next() {
            if translator.translate(&event, &mut events).is_err() {
                return (events, false);
            }
        }
    }
    let last = decoder.finish();
    let is_read = last.is_none_or(|event| translator.translate(&event, &mut events).is_ok());
    if is_read {
        translator.finish(&mut events);
    }
    (events, is_read)
}

/// Each event has JSON, and where the protocol names events, the name that its data has.
fn check_events(pair: ProtocolPair, events: &[SseEvent]) {
    for event in events {
        let data = event.data();
        if data == b"[DONE]" && pair.caller == ConversationFormat::Chat {
            continue;
        }
        let Some(value) = parse_json(data) else {
            continue;
        };
        match pair.caller {
            ConversationFormat::Chat => assert_eq!(event.name(), None),
            ConversationFormat::Messages | ConversationFormat::Responses => {
                assert_eq!(event.name(), value["type"].as_str().map(str::as_bytes));
            }
        }
    }
    let starts = events
        .iter()
        .filter(|event| is_named(event, b"message_start"));
    assert!(starts.count() <= 1, "a stream has one start");
    let ends = [
        &b"message_stop"[..],
        b"response.completed",
        b"response.incomplete",
    ];
    let end = events
        .iter()
        .position(|event| ends.iter().any(|end| is_named(event, end)));
    assert!(
        end.is_none_or(|at| at + 1 == events.len()),
        "an event follows the end"
    );
    match pair.caller {
        ConversationFormat::Chat => {}
        ConversationFormat::Messages => check_blocks(events),
        ConversationFormat::Responses => check_numbers(events),
    }
}

/// Blocks have consecutive indexes; one is open at a time, and none at the end.
fn check_blocks(events: &[SseEvent]) {
    let (mut begun, mut is_open) = (0, false);
    for event in events {
        let index = || parse_json(event.data()).and_then(|data| data["index"].as_u64());
        match event.name() {
            Some(b"content_block_start") => {
                assert!(!is_open, "a block begins in another one");
                assert_eq!(index(), Some(begun), "blocks are counted");
                (begun, is_open) = (begun + 1, true);
            }
            Some(name @ (b"content_block_delta" | b"content_block_stop")) => {
                assert!(is_open, "a block is not open");
                assert_eq!(index(), Some(begun - 1), "the block is another one");
                is_open = name == b"content_block_delta";
            }
            Some(b"message_stop") => assert!(!is_open, "a block has no end"),
            _ => {}
        }
    }
}

/// Events are numbered from 0.
fn check_numbers(events: &[SseEvent]) {
    for (number, event) in (0..).zip(events) {
        if let Some(data) = parse_json(event.data()) {
            assert_eq!(data["sequence_number"].as_u64(), Some(number), "{data}");
        }
    }
}

fn is_named(event: &SseEvent, name: &[u8]) -> bool {
    event.name() == Some(name)
}

/// A translated stream is one of the caller's protocol for the gateway's own readers, too.
fn check_second_reading(pair: ProtocolPair, (events, is_read): &(Vec<SseEvent>, bool)) {
    if !is_read {
        return;
    }
    let channel = pair.caller.provider_format();
    let callers = CALLERS
        .iter()
        .filter(|caller| caller.provider_format() != channel);
    for caller in callers {
        let caller = *caller;
        let again = ProtocolPair { caller, channel };
        let mut translator = StreamTranslator::new(again, new_context([].into_iter()));
        let mut second = Vec::new();
        for event in events {
            let read = translator.translate(event, &mut second);
            read.unwrap_or_else(|error| panic!("{error}: {}", event.raw.escape_ascii()));
        }
        check_events(again, &second);
    }
}

fn bytes(events: &[SseEvent]) -> Vec<u8> {
    events.iter().flat_map(|event| event.raw.to_vec()).collect()
}

/// What the gateway knows of a request: `seals`, `tools`, `thoughts` and `repeats` add something that most requests do not
/// have.
fn new_context<'w>(words: impl Iterator<Item = &'w str>) -> ResponseContext {
    let mut context = ResponseContext {
        id: "0a1b".into(),
        created: 1_795_383_310,
        model: Bytes::from_static(b"\"chat-large\""),
        includes_usage: true,
        ..ResponseContext::default()
    };
    for word in words {
        match word {
            "seals" => context.sealer = Some(Arc::new(KeylessSealer) as Arc<dyn ThinkingSealer>),
            "tools" => {
                context.custom_tools = vec!["free".into()];
                context.renamed_tools = vec![RenamedTool {
                    name: "my tool".into(),
                    sent: "f1".into(),
                }];
            }
            "thoughts" => context.total_has_thoughts = true,
            "repeats" => context.repeated = vec![("temperature", "0.5".into())],
            _ => context.includes_usage = false,
        }
    }
    context
}
