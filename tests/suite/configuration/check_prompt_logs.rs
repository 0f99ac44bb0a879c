//! Tests of `headgate check` on the log of prompts: where it is stored, and what is recorded.

use super::check::{GOOD, check};

const BUCKET: &str = "bucket: {bucket: prompts, access_key_id: a, secret_access_key: b}";

/// The valid file with `log_prompts` on all routes, with these settings, and a sink with these.
fn logged(settings: &str, sink: &str) -> String {
    let text = GOOD.replace(
        "{use: body}",
        &format!("{{use: body}}, {{log_prompts: {settings}}}"),
    );
    format!("{text}prompt_logs: {{archive: {{{sink}}}}}\n")
}

#[test]
fn sinks_that_routes_use_are_good() {
    for (settings, sink) in [
        ("{sink: archive}", BUCKET.to_owned()),
        (
            "{sink: archive, sample: 0.01, response: false, redact: [/user, \"/messages/*/content\"]}",
            format!("{BUCKET}, max_bytes: 1MiB, max_body: 256KiB, flush: 1h"),
        ),
        (
            "{sink: archive, sample: 0}",
            "otlp: {endpoint: \"http://127.0.0.1:4318\", headers: {x-key: secret}}".to_owned(),
        ),
    ] {
        let printed = check(&logged(settings, &sink));
        assert!(printed.success, "{settings}{}", printed.stderr);
        assert_eq!(printed.stdout.lines().count(), 1, "{}", printed.stdout);
    }
}

#[test]
fn a_log_that_cannot_work_is_an_error_at_its_place() {
    let with = |more: &str| format!("{BUCKET}, {more}");
    for (settings, sink, place, reason) in [
        (
            "{sink: archiv}",
            with(""),
            "log_prompts.sink)",
            "did you mean `archive`?",
        ),
        (
            "{sink: elsewhere}",
            with(""),
            "log_prompts.sink)",
            "declare it in `prompt_logs`",
        ),
        (
            "{sink: archive, sample: 1.5}",
            with(""),
            "log_prompts.sample)",
            "1",
        ),
        (
            "{sink: archive, sample: -0.1}",
            with(""),
            "log_prompts.sample)",
            "0",
        ),
        (
            "{sink: archive, redact: [user]}",
            with(""),
            "log_prompts.redact[0])",
            "begins with `/`",
        ),
        (
            "{sink: archive, redact: [/a, /~2]}",
            with(""),
            "log_prompts.redact[1])",
            "`~`",
        ),
        (
            "{sink: archive, sampl: 1}",
            with(""),
            "sampl",
            "did you mean `sample`?",
        ),
        (
            "{sink: archive}",
            "flush: 1s".into(),
            "prompt_logs.archive)",
            "either `bucket` or `otlp`",
        ),
        (
            "{sink: archive}",
            with("otlp: {endpoint: \"https://a.example\"}"),
            "prompt_logs.archive)",
            "either `bucket` or `otlp`",
        ),
        (
            "{sink: archive}",
            with("flush: 10ms"),
            "archive.flush)",
            "100ms to 1h",
        ),
        (
            "{sink: archive}",
            with("max_bytes: 1KiB"),
            "archive.max_bytes)",
            "1MiB to 16GiB",
        ),
        (
            "{sink: archive}",
            with("max_body: 10B"),
            "archive.max_body)",
            "1KiB to 16MiB",
        ),
        (
            "{sink: archive}",
            with("max_body: 16MiB"),
            "archive.max_body)",
            "a quarter of `max_bytes`",
        ),
        (
            "{sink: archive}",
            BUCKET.replace("bucket: prompts", "bucket: prompts, endpoint: s3.example"),
            "archive.bucket.endpoint)",
            "must start with `https://`",
        ),
        (
            "{sink: archive}",
            BUCKET.replace("bucket: prompts", "bucket: \"A b?\""),
            "archive.bucket.bucket)",
            "expected letters, digits",
        ),
        (
            "{sink: archive}",
            BUCKET.replace("access_key_id: a", "access_key_id: \"a\\n\""),
            "archive.bucket.access_key_id)",
            "a key has no spaces, line breaks",
        ),
        (
            "{sink: archive}",
            BUCKET.replace("access_key_id: a, ", ""),
            "archive.bucket",
            "access_key_id",
        ),
        (
            "{sink: archive}",
            BUCKET.replace("bucket: prompts", "bucket: prompts, presigned: true"),
            "presigned",
            "presigned",
        ),
        (
            "{sink: archive}",
            "otlp: {endpoint: collector}".into(),
            "archive.otlp.endpoint)",
            "must start with `https://`",
        ),
        (
            "{sink: archive}",
            "otlp: {endpoint: \"https://a.example\", headers: {\"a b\": c}}".into(),
            "archive.otlp.headers",
            "is no header",
        ),
    ] {
        let printed = check(&logged(settings, &sink));
        assert!(!printed.success, "{settings} {sink}{}", printed.stdout);
        for part in [place, reason] {
            assert!(
                printed.stderr.contains(part),
                "{settings} {sink}{}",
                printed.stderr
            );
        }
    }
}

#[test]
fn a_sink_without_a_route_and_a_log_without_bodies_are_warnings() {
    let unused = format!("{GOOD}prompt_logs: {{archive: {{{BUCKET}}}}}\n");
    let empty = logged("{sink: archive, request: false, response: false}", BUCKET);
    for (text, warning) in [
        (unused, "no route has `log_prompts` with it"),
        (empty, "records have no body"),
    ] {
        let printed = check(&text);
        assert!(printed.success, "{}", printed.stderr);
        assert!(printed.stdout.contains(warning), "{}", printed.stdout);
    }
}
