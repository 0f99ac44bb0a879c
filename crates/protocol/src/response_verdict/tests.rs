//! Bodies under a success status, and what they are.

use super::ResponseVerdict::{self, Failure, Success, Unreadable};
use super::{begins_like_failure, begins_like_text, is_examined, reported_status};
use crate::Protocol::{self, Chat, FamilyA, FamilyB, ImageEdit, Messages, Responses, Video};

fn judge(protocol: Protocol, body: &[u8]) -> ResponseVerdict {
    protocol.descriptor().success.judge(body)
}

fn judge_start(protocol: Protocol, start: &[u8]) -> Option<ResponseVerdict> {
    protocol.descriptor().success.judge_start(start)
}

const ALL: [Protocol; 7] = [
    Chat, Messages, Responses, ImageEdit, Video, FamilyA, FamilyB,
];

const CASES: &[(&[Protocol], ResponseVerdict, &[&str])] = &[
    (
        &ALL,
        Unreadable,
        &[
            "",
            " \n",
            "null",
            "[]",
            r#"[{"error":{"code":400}}]"#,
            "\"text\"",
            "upstream connect error",
            "<html>",
            "{",
            r#"{"id":"x","#,
            r#"{"id":"x""#,
            r#"{"error":{"message":"m"}"#,
            r#"{"a":{"b":1}"#,
            "{]}",
            "{} trailing",
        ],
    ),
    (
        &ALL,
        Failure,
        &[
            r#"{"error":{"message":"m","type":"server_error","code":null}}"#,
            r#"{"error":"text"}"#,
            r#"{"error":true,"reason":"m"}"#,
            r#"{"code":500,"msg":"busy","data":null}"#,
            r#"{"code":"Throttling","message":"m","request_id":"r"}"#,
            r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"},"choices":null}"#,
            r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            r#"{"detail":"Not authenticated"}"#,
            r#"{"success":false,"errors":[{"code":1}],"result":null}"#,
            r#"{"error_code":18,"error_msg":"Open api qps request limit reached"}"#,
            r#"{"Response":{"Error":{"Code":"LimitExceeded","Message":"m"},"RequestId":"r"}}"#,
            r#"{"header":{"code":10013,"message":"m","sid":"s"}}"#,
            r#"{"message":"Service Unavailable"}"#,
            r#"{"error":503}"#,
            r#"{"ok":false}"#,
            r#"{"__type":"ThrottlingException"}"#,
            r#"{"Message":"User is not authorized"}"#,
            r#"{"Error":{"Code":"AccessDenied"}}"#,
            r#"{"fault":{"faultstring":"Rejected"}}"#,
            r#"{"errorMessage":"timed out","errorType":"Timeout"}"#,
            r#"{"reason":"busy","status":"UNAVAILABLE"}"#,
            " {\"error\":{\"message\":\"m\"}}\n",
        ],
    ),
    (
        &ALL,
        Success,
        &[
            "{}",
            "\u{feff}{\"a\":1}",
            r#"{"error":null}"#,
            r#"{"error":""}"#,
            r#"{"code":0,"message":"success","data":{}}"#,
            r#"{"code":200,"msg":"ok","data":{}}"#,
            r#"{"base_resp":{"status_code":0,"status_msg":"success"}}"#,
            r#"{"id":"x","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"Hi"}]}}"#,
            r#"{"model":"m","message":{"role":"assistant","content":"Hi"},"done":true}"#,
            r#"{"type":"message_start","message":{"id":"msg_1","content":[]}}"#,
        ],
    ),
    (
        &[Chat],
        Success,
        &[
            r#"{"id":"c","choices":[{"message":{"content":"{[ unbalanced"}}],"usage":{}}"#,
            r#"{"error":{"message":"partial"},"choices":[{"message":{}}]}"#,
            r#"{"choices":[{"message":{"content":null,"refusal":"no"}}],"error":null}"#,
            r#"{"id":"c","choices":[]}"#,
            r#"{"base_resp":{"status_code":1026},"choices":[{}]}"#,
        ],
    ),
    (
        &[Chat],
        Failure,
        &[
            r#"{"id":"c","choices":[],"error":{"message":"m"}}"#,
            r#"{"id":"c","choices":null,"error":{"message":"m"}}"#,
        ],
    ),
    (
        &[Chat],
        Unreadable,
        &[
            r#"{"id":"c","choices":[{"message":{"content":"x"}}"#,
            r#"{"id":"c","choices":[{"message":{"content":"x}"#,
        ],
    ),
    (
        &[Messages],
        Success,
        &[
            r#"{"id":"m","type":"message","content":[],"stop_reason":"refusal"}"#,
            r#"{"content":[{"type":"text","text":"x"}],"error":{"message":"m"}}"#,
        ],
    ),
    (
        &[Responses],
        Success,
        &[
            r#"{"id":"r","status":"incomplete","incomplete_details":{"reason":"x"},"error":null}"#,
            r#"{"id":"r","status":"queued","output":[],"background":true}"#,
            r#"{"id":"r","output":[{"type":"message"}],"error":{"message":"m"}}"#,
        ],
    ),
    (
        &[Responses],
        Failure,
        &[
            r#"{"id":"r","status":"failed","error":{"code":"server_error","message":"m"},"output":[]}"#,
            r#"{"id":"r","output":[{"type":"message"}],"status":"failed"}"#,
        ],
    ),
    (
        &[ImageEdit],
        Success,
        &[r#"{"created":1,"data":[{"b64_json":"x"}],"error":{"message":"one of two"}}"#],
    ),
    (
        &[ImageEdit],
        Failure,
        &[r#"{"request_id":"q","output":{"task_status":"FAILED","code":"InvalidParameter"}}"#],
    ),
    (
        &[FamilyA, Video],
        Success,
        &[r#"{"id":"cgt-1","error":{"message":"m"}}"#],
    ),
    (
        &[FamilyB, Video],
        Success,
        &[
            r#"{"output":{"task_id":"t","task_status":"FAILED","code":"X","message":"m"},"request_id":"r"}"#,
        ],
    ),
];

#[test]
fn each_protocol_knows_its_successes_and_failures() {
    for (protocols, expected, bodies) in CASES {
        for protocol in *protocols {
            for body in *bodies {
                let verdict = judge(*protocol, body.as_bytes());
                assert_eq!(verdict, *expected, "{protocol:?} {body}");
            }
        }
    }
}

#[test]
fn the_start_of_a_body_never_contradicts_the_whole() {
    for (protocols, _, bodies) in CASES {
        for (protocol, body) in protocols
            .iter()
            .flat_map(|protocol| bodies.iter().map(move |body| (*protocol, body.as_bytes())))
        {
            let whole = judge(protocol, body);
            for end in 0..body.len() {
                let early = judge_start(protocol, &body[..end]);
                // What looks like a success may be cut off later.
                let is_consistent = match early {
                    None => true,
                    Some(Success) => whole != Failure,
                    Some(Failure) => whole == Failure || whole == Unreadable,
                    Some(Unreadable) => whole == Unreadable,
                };
                let text = String::from_utf8_lossy(&body[..end]);
                assert!(is_consistent, "{protocol:?} {text}: {early:?}, {whole:?}");
            }
        }
    }
}

#[test]
fn a_success_that_is_cut_anywhere_is_unreadable() {
    let body = r#"{"id":"c","choices":[{"message":{"content":"a { b [ c","tool_calls":[{"id":"t"}]}}],"usage":{"prompt_tokens":1}}"#;
    assert_eq!(judge(Chat, body.as_bytes()), Success);
    for end in 0..body.len() {
        assert_eq!(
            judge(Chat, &body.as_bytes()[..end]),
            Unreadable,
            "{}",
            &body[..end]
        );
    }
}

#[test]
fn only_requests_for_results_are_examined() {
    for (is_post, path, expected) in [
        (true, "/v1/chat/completions", true),
        (true, "/v1/responses", true),
        (true, "/v1/messages/", true),
        (true, "/custom", true),
        (false, "/v1/responses/resp_1", false),
        (true, "/v1/responses/resp_1/cancel", false),
        (true, "/v1/responses/compact", false),
        (true, "/v1/messages/count_tokens", false),
        (true, "/v1/audio/speech", true),
    ] {
        assert_eq!(is_examined(is_post, path), expected, "{path}");
    }
}

#[test]
fn text_begins_otherwise_than_sound() {
    for (start, expected) in [
        (&b"{\"error\""[..], true),
        (b"\xef\xbb\xbf [", true),
        (b"\r\n<html>", true),
        (b" ", true),
        (b"{", true),
        (b"[[\"", true),
        (b"<?xml", true),
        (b"ID3\x04", false),
        (b"{\x01{\x01", false),
        (b"<\x00<\x00", false),
        (b"[laughs]", false),
        (b"\xff\xfb\x90", false),
        (b"RIFF", false),
    ] {
        let shown = start.escape_ascii();
        assert_eq!(begins_like_text(start), expected, "{shown}");
    }
}

#[test]
fn an_error_may_report_a_status() {
    for (body, expected) in [
        (r#"{"error":{"code":429}}"#, Some(429)),
        (r#"{"error":{"code":"503"}}"#, Some(503)),
        (r#"{"code":500,"msg":"busy"}"#, Some(500)),
        (r#"{"status":404,"error":"Not Found"}"#, Some(404)),
        (r#"{"error":{"code":"1113"}}"#, None),
        (r#"{"error":{"code":"rate_limit"}}"#, None),
        ("null", None),
    ] {
        assert_eq!(reported_status(body.as_bytes()), expected, "{body}");
    }
}

#[test]
fn a_start_that_may_become_an_event_stream_decides_nothing() {
    for start in ["d", "dat", "e", "event", "\n i", "retry"] {
        assert_eq!(judge_start(Chat, start.as_bytes()), None, "{start}");
    }
    for start in ["busy", "data: x", "dart", "<"] {
        let verdict = judge_start(Chat, start.as_bytes());
        assert_eq!(verdict, Some(Unreadable), "{start}");
    }
}

#[test]
fn an_error_is_known_by_the_first_member() {
    for (start, is_failure) in [
        (r#"{"error":{"mess"#, true),
        (r#" {"code":5"#, true),
        (r#"{"id":"x","#, false),
        ("{", false),
        ("", false),
    ] {
        assert_eq!(begins_like_failure(start.as_bytes()), is_failure, "{start}");
    }
}
