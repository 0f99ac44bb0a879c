//! Tests of `headgate explain` with a caller's trace context.

use crate::harness::config;
use crate::harness::gateway::folder_with_schemas;
use crate::observability::status::run;
use serde_json::json;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN: &str = "00f067aa0ba902b7";

/// What `explain` prints of a request with this traceparent.
fn explained(is_traced: bool, traceparent: Option<&str>) -> String {
    let folder = folder_with_schemas();
    let mut config = config::standard("http://127.0.0.1:9/v1");
    if is_traced {
        config["tracing"] = json!({"endpoint": "http://127.0.0.1:9", "sampling": {"ratio": 0}});
    }
    let file = folder.write("routes.yaml", config.to_string());
    let header = traceparent.map(|value| format!("traceparent: {value}"));
    let body = r#"{"model":"demo-large","messages":[{"role":"user","content":"hello"}]}"#;
    let mut args = vec!["explain", "/v1/chat/completions", "-d", body];
    args.extend(["--config", file.to_str().unwrap()]);
    args.extend(header.iter().flat_map(|header| ["-H", header]));
    let (code, text, errors) = run(&args, &[]);
    assert_eq!((code, &*errors), (0, ""), "{text}");
    text
}

#[test]
fn explain_shows_whose_trace_a_provider_gets() {
    let valid = format!("00-{TRACE}-{SPAN}-01");
    let passed = |text: &str| {
        let line = text.lines().find(|line| line.contains("traceparent: "));
        line.map(|line| line.split_once("traceparent: ").unwrap().1.to_owned())
    };
    let untraced = explained(false, Some(&valid));
    assert!(!untraced.contains("\ntrace "), "{untraced}");
    assert_eq!(passed(&untraced), Some(valid.clone()));
    for (sent, line, is_continued) in [
        (Some(&*valid), "continues that of the caller, sampled", true),
        (
            Some("nonsense"),
            "new, since the caller's traceparent is invalid, not sampled",
            false,
        ),
        (None, "new, not sampled", false),
    ] {
        let text = explained(true, sent);
        assert!(text.contains(&format!(" {line}\n")), "{text}");
        let passed = passed(&text).expect("a traceparent");
        assert_eq!(passed.contains(TRACE), is_continued, "{text}");
        assert!(
            !passed.contains(SPAN) && !passed.contains("nonsense"),
            "{text}"
        );
    }
}
