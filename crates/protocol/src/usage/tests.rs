//! Tests of usage: it is read in every provider's format, and nothing is counted twice.

use super::stream_meter::TAIL_BYTES;
use super::*;
use crate::Protocol;

fn usage(counts: [Option<u64>; 6]) -> TokenUsage {
    let [
        input_tokens,
        output_tokens,
        total_tokens,
        cached_input_tokens,
        cache_write_tokens,
        reasoning_tokens,
    ] = counts;
    TokenUsage {
        input_tokens,
        output_tokens,
        total_tokens,
        cached_input_tokens,
        cache_write_tokens,
        reasoning_tokens,
        audio_ms: None,
        input_excludes_cache: false,
    }
}

/// Counts of the messages protocol, whose input is without the cache.
fn messages_usage(counts: [Option<u64>; 6]) -> TokenUsage {
    TokenUsage {
        input_excludes_cache: true,
        ..usage(counts)
    }
}

fn metered(protocol: Protocol, events: &[&str]) -> Option<TokenUsage> {
    let mut meter = StreamUsageMeter::new(&protocol.descriptor().usage);
    for data in events {
        meter.event(None, data.as_bytes());
    }
    meter.usage()
}

/// The usage of a protocol that is declared.
fn declared(usage: crate::UsageConfig) -> UsageShape {
    let protocol = crate::ProtocolConfig {
        usage: Some(usage),
        ..crate::ProtocolConfig::default()
    };
    protocol.build("sound").unwrap().descriptor().usage
}

#[test]
fn whole_bodies_give_their_usage() {
    let chat = r#"{"id":"x","choices":[{"message":{"content":"\"usage\":{\"prompt_tokens\":9}"}}],"usage":{"prompt_tokens":10,
        "completion_tokens":20,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":0},
        "completion_tokens_details":{"reasoning_tokens":5}}}"#;
    let messages = r#"{"type":"message","usage":{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,
        "output_tokens":20.0,"output_tokens_details":{"thinking_tokens":6},"service_tier":"standard"}}"#;
    let responses = r#"{"object":"response","output":[{"usage":1}],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":1,
        "cache_write_tokens":2},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":7},"total_tokens":30}}"#;
    let table = [
        (
            Protocol::Chat,
            chat,
            Some([Some(10), Some(20), Some(30), Some(4), None, Some(5)]),
        ),
        (
            Protocol::Messages,
            messages,
            Some([Some(10), Some(20), None, Some(3), Some(2), Some(6)]),
        ),
        (
            Protocol::Responses,
            responses,
            Some([Some(10), Some(20), Some(30), Some(1), Some(2), Some(7)]),
        ),
        (
            Protocol::ImageEdit,
            r#"{"created":1,"usage":{"input_tokens":10,"input_tokens_details":{"image_tokens":8,"text_tokens":2},
                "output_tokens":20,"total_tokens":30}}"#,
            Some([Some(10), Some(20), Some(30), None, None, None]),
        ),
        (
            Protocol::FamilyA,
            r#"{"id":"t","status":"succeeded","usage":{"completion_tokens":108900,"total_tokens":108900}}"#,
            Some([None, Some(108_900), Some(108_900), None, None, None]),
        ),
        (
            Protocol::FamilyB,
            r#"{"output":{},"usage":{"duration":15,"video_count":1}}"#,
            None,
        ),
        (Protocol::Responses, r#"{"usage":null}"#, None),
        (
            Protocol::Chat,
            r#"{"usage":{"prompt_tokens":null,"completion_tokens":-1}}"#,
            None,
        ),
        (Protocol::Chat, r#"{"usage":[]}"#, None),
        (
            Protocol::Chat,
            r#"{"choices":[{"usage":{"prompt_tokens":1}}]}"#,
            None,
        ),
        (Protocol::Chat, "<html>\"usage\"", None),
        (Protocol::Chat, "", None),
    ];
    for (protocol, body, expected) in table {
        let counts = match protocol {
            Protocol::Messages => messages_usage,
            _ => usage,
        };
        assert_eq!(
            from_json(&protocol.descriptor().usage, body.as_bytes()),
            expected.map(counts),
            "{body}"
        );
    }
}

#[test]
fn a_chat_stream_counts_its_last_usage() {
    let usage_of = |last: &str| {
        metered(
            Protocol::Chat,
            &[
                r#"{"choices":[{"delta":{"content":"a"}}],"usage":null}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}"#,
                last,
                "[DONE]",
            ],
        )
    };
    let last =
        r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":9,"total_tokens":10}}"#;
    assert_eq!(
        usage_of(last),
        Some(usage([Some(1), Some(9), Some(10), None, None, None]))
    );
    assert_eq!(
        usage_of(r#"{"usage":null}"#),
        Some(usage([Some(1), Some(1), Some(2), None, None, None]))
    );
    assert_eq!(
        metered(Protocol::Chat, &[r#"{"usage":null}"#, "[DONE]"]),
        None
    );
}

#[test]
fn a_messages_stream_is_cumulative_and_repeated_starts_count_once() {
    let start = r#"{"type":"message_start","message":{"model":"m","usage":{"input_tokens":10,"cache_read_input_tokens":3,"output_tokens":1}}}"#;
    let delta = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#;
    let larger = r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":50,"output_tokens":9,"cache_read_input_tokens":null}}"#;
    let table: [(&[&str], _); 5] = [
        (&[], None),
        (
            &[start],
            Some([Some(10), Some(1), None, Some(3), None, None]),
        ),
        (
            &[start, start, delta],
            Some([Some(10), Some(5), None, Some(3), None, None]),
        ),
        (
            &[start, delta, start],
            Some([Some(10), Some(5), None, Some(3), None, None]),
        ),
        (
            &[start, delta, larger],
            Some([Some(50), Some(9), None, Some(3), None, None]),
        ),
    ];
    for (events, expected) in table {
        assert_eq!(
            metered(Protocol::Messages, events),
            expected.map(messages_usage),
            "{events:?}"
        );
    }
}

#[test]
fn a_responses_stream_counts_the_response_that_ended_it() {
    let created = r#"{"type":"response.created","response":{"id":"resp_1","usage":null}}"#;
    let delta = r#"{"type":"response.output_text.delta","delta":"\"usage\""}"#;
    let completed = r#"{"type":"response.completed","response":{"output":[],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}"#;
    assert_eq!(metered(Protocol::Responses, &[created, delta]), None);
    let expected = usage([Some(1), Some(2), Some(3), None, None, None]);
    assert_eq!(
        metered(Protocol::Responses, &[created, delta, completed]),
        Some(expected)
    );
}

#[test]
fn only_the_usage_of_the_whole_response_counts_wherever_it_stands() {
    let counted = usage([Some(1), Some(2), None, None, None, None]);
    let of = r#""usage":{"prompt_tokens":1,"completion_tokens":2}"#;
    let other = r#""usage":{"prompt_tokens":7,"completion_tokens":7}"#;
    for (body, expected) in [
        (format!("{{{of}}}"), Some(counted)),
        (format!(" {{ \"id\":\"a\" , {of} }} \n"), Some(counted)),
        (format!(r#"{{{of},"id":"a","more":[{{}}]}}"#), Some(counted)),
        (
            format!(r#"{{"choices":[{{{other}}}],{of}}}"#),
            Some(counted),
        ),
        (
            format!(r#"{{{of},"choices":[{{{other}}}]}}"#),
            Some(counted),
        ),
        (format!(r#"{{{of},"last":{{{other}}}}}"#), Some(counted)),
        (format!(r#"{{{of},"last":"usage"}}"#), Some(counted)),
        (format!(r#"{{"choices":[{{{other}}}]}}"#), None),
        (format!(r#"{{"choices":{{{other}}}}}"#), None),
        (format!("[{{{other}}}]"), None),
        (r#"{"name":"usage"}"#.into(), None),
        (r#"{"usage":null}"#.into(), None),
        (r#"{"usage":"#.into(), None),
        (r#"{"usage""#.into(), None),
    ] {
        let found = from_json(&Protocol::Chat.descriptor().usage, body.as_bytes());
        assert_eq!(found, expected, "{body}");
    }
}

#[test]
fn zero_after_a_number_is_no_report_in_any_protocol() {
    for (protocol, events, expected) in [
        (
            Protocol::Messages,
            &[
                r#"{"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1,"cache_read_input_tokens":7}}}"#,
                r#"{"type":"message_delta","usage":{"input_tokens":0,"output_tokens":12,"cache_read_input_tokens":0}}"#,
            ][..],
            [Some(25), Some(12), Some(7)],
        ),
        (
            Protocol::Messages,
            &[
                r#"{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}"#,
                r#"{"type":"message_delta","usage":{"input_tokens":30,"output_tokens":12}}"#,
            ],
            [Some(30), Some(12), None],
        ),
        (
            Protocol::Chat,
            &[
                r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
            ],
            [Some(9), Some(4), None],
        ),
        (
            Protocol::Chat,
            &[r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}"#],
            [Some(9), Some(0), None],
        ),
    ] {
        let mut meter = StreamUsageMeter::new(&protocol.descriptor().usage);
        for event in events {
            meter.event(None, event.as_bytes());
        }
        let usage = meter.usage().expect("the events have usage");
        let counts = [
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_input_tokens,
        ];
        assert_eq!(counts, expected, "{events:?}");
    }
}

#[test]
fn the_usage_at_the_end_of_an_oversize_event_is_read_however_it_is_cut() {
    let padding = "x".repeat(3 * TAIL_BYTES);
    let event = format!(
        r#"data: {{"type":"response.completed","response":{{"output":["{padding}"],"usage":{{"input_tokens":3,"input_tokens_details":{{"cached_tokens":1}},"output_tokens":5}}}}}}"#
    );
    for piece in [1, 100, TAIL_BYTES, event.len()] {
        let mut meter = StreamUsageMeter::new(&Protocol::Responses.descriptor().usage);
        for piece in event.as_bytes().chunks(piece) {
            meter.oversize_piece(piece);
        }
        let usage = meter.usage().expect("the event has usage");
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (Some(3), Some(5))
        );
        assert_eq!(usage.cached_input_tokens, Some(1));
    }
}

#[test]
fn seconds_of_audio_are_counted_to_the_millisecond() {
    let shape = &declared(crate::UsageConfig {
        seconds: Some("/seconds".into()),
        ..crate::UsageConfig::default()
    });
    assert!(shape.counts_audio());
    for (seconds, ms) in [
        ("12", Some(12_000)),
        ("8.47", Some(8_470)),
        ("8.470000267028809", Some(8_470)),
        ("1e2", Some(100_000)),
        ("0.0004", None),
        ("0", None),
        ("-1", None),
        ("1e300", Some(u32::MAX)),
        ("\"12\"", None),
        ("null", None),
    ] {
        let body = format!("{{\"usage\":{{\"type\":\"duration\",\"seconds\":{seconds}}}}}");
        let usage = from_json(shape, body.as_bytes());
        let counted = usage.and_then(|usage| usage.audio_ms).map(NonZeroU32::get);
        assert_eq!(counted, ms, "{seconds}");
    }
}

#[test]
fn the_duration_of_a_body_counts_if_its_usage_counts_nothing() {
    let shape = &declared(crate::UsageConfig {
        input: Some("/input_tokens".into()),
        seconds: Some("/seconds".into()),
        duration: Some("/duration".into()),
        ..crate::UsageConfig::default()
    });
    for (members, ms) in [
        (r#""duration":8.47"#, Some(8_470)),
        (r#""duration":"8.470000267028809""#, Some(8_470)),
        (r#""usage":null,"duration":3"#, Some(3_000)),
        (r#""usage":{},"duration":3"#, Some(3_000)),
        (r#""usage":{"duration":9},"duration":3"#, Some(3_000)),
        (r#""duration":3,"usage":{"seconds":null}"#, Some(3_000)),
        (r#""duration":3,"usage":{"seconds":4}"#, Some(4_000)),
        (r#""duration":3,"usage":{"seconds":0}"#, None),
        (r#""duration":3,"usage":{"input_tokens":7}"#, None),
        (r#""segments":[{"duration":3}]"#, None),
        (r#""text":"\"duration\":3""#, None),
        (r#""duration":"""#, None),
        (r#""duration":"3 s""#, None),
        (r#""duration":"NaN""#, None),
        (r#""duration":"\u0033""#, None),
        (r#""duration":-3"#, None),
        (r#""duration":0"#, None),
        (r#""duration":null"#, None),
        (r#""duration":{"seconds":3}"#, None),
        (r#""duration":[3]"#, None),
        (r#""duration":true"#, None),
        (r#""duration":"inf""#, Some(u32::MAX)),
    ] {
        let body = format!("{{\"task\":\"transcribe\",{members}}}");
        let usage = from_json(shape, body.as_bytes());
        let counted = usage.and_then(|usage| usage.audio_ms).map(NonZeroU32::get);
        assert_eq!(counted, ms, "{members}");
    }
    let tokens = from_json(shape, br#"{"duration":3,"usage":{"input_tokens":7}}"#);
    assert_eq!(tokens.and_then(|usage| usage.input_tokens), Some(7));
    let chat = &Protocol::Chat.descriptor().usage;
    assert_eq!(from_json(chat, br#"{"duration":3}"#), None);
}

#[test]
fn counts_that_no_request_can_reach_are_named() {
    let shape = Protocol::Chat.descriptor().usage;
    for (usage, expected) in [
        (r#"{"prompt_tokens":100000000,"completion_tokens":0}"#, None),
        (r#"{"prompt_tokens":100000001}"#, Some("input_tokens")),
        (
            r#"{"prompt_tokens":1,"completion_tokens":18446744073709551615}"#,
            Some("output_tokens"),
        ),
        (
            r#"{"prompt_tokens":1,"total_tokens":2e12}"#,
            Some("total_tokens"),
        ),
        (
            r#"{"prompt_tokens":1,"completion_tokens_details":{"reasoning_tokens":999999999}}"#,
            Some("reasoning_tokens"),
        ),
    ] {
        let body = format!(r#"{{"usage":{usage}}}"#);
        let found = from_json(&shape, body.as_bytes()).unwrap();
        assert_eq!(found.implausible_count(1), expected, "{usage}");
        // So many requests may have used that much, but not as much as a number can hold.
        let of_many = expected.filter(|_| usage.contains("18446744073709551615"));
        assert_eq!(found.implausible_count(1_000_000), of_many, "{usage}");
    }
    for (hours, expected) in [(24, None), (25, Some("audio_seconds"))] {
        let usage = TokenUsage {
            audio_ms: NonZeroU32::new(hours * 3_600_000),
            ..TokenUsage::default()
        };
        assert_eq!(usage.implausible_count(1), expected, "{hours}");
        assert_eq!(usage.implausible_count(2), None, "{hours}");
        assert!(!usage.counts_tokens());
    }
}
