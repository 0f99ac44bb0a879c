//! Translations of streams: well-formed events in the caller's protocol come of whatever a provider sends, in any pieces.
//!
//! An input is a pair such as `messages->chat`, and after a line with `--` the provider's stream.

use crate::input::{cuts, parse_json, parts};
use bytes::Bytes;
use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};
use headgate_protocol::sse::{SseDecoder, SseEvent};
use headgate_translate::{
    Ledger, ProtocolPair, ResponseContext, StreamTranslator, translate_response,
};

const EVENT_BYTES_MAX: usize = 1 << 20;

const CALLERS: [ConversationFormat; 3] = [
    ConversationFormat::Chat,
    ConversationFormat::Messages,
    ConversationFormat::Responses,
];
const CHANNELS: [ProviderFormat; 5] = [
    ProviderFormat::Chat,
    ProviderFormat::Messages,
    ProviderFormat::Responses,
    ProviderFormat::Gemini,
    ProviderFormat::Converse,
];

pub fn run(input: &[u8]) {
    let [name, stream] = parts(input);
    let mut pairs = CALLERS.iter().flat_map(|caller| {
        CHANNELS.iter().map(|channel| ProtocolPair {
            caller: *caller,
            channel: *channel,
        })
    });
    let named = pairs.find(|pair| pair.name().as_bytes() == name);
    // A pair of one protocol needs no translation.
    let Some(pair) = named.filter(|pair| pair.caller.provider_format() != pair.channel) else {
        return;
    };
    let whole = translate(pair, &[stream]);
    for pieces in cuts(stream) {
        assert_eq!(
            bytes(&translate(pair, &pieces).0),
            bytes(&whole.0),
            "the stream in pieces"
        );
    }
    check_events(pair, &whole.0);
    check_second_reading(pair, &whole);
    let body = Bytes::copy_from_slice(stream);
    let mut ledger = Ledger::default();
    if let Ok(translated) = translate_response(pair, &body, &context(), &mut ledger) {
        let parsed = parse_json(&translated);
        assert!(
            parsed.is_none_or(|body| body.is_object()),
            "the body is no object"
        );
    }
}

/// The caller's events, and whether all of the provider's could be read.
fn translate(pair: ProtocolPair, pieces: &[&[u8]]) -> (Vec<SseEvent>, bool) {
    let mut translator = StreamTranslator::new(pair, context());
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
        let mut translator = StreamTranslator::new(again, context());
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

fn context() -> ResponseContext {
    ResponseContext {
        id: "0a1b".into(),
        created: 1_795_383_310,
        model: Bytes::from_static(b"\"chat-large\""),
        includes_usage: true,
        ..ResponseContext::default()
    }
}
