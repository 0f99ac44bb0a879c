//! Pairs of configurations: what diff and replay print of a request, and that it is what two gateways then do.

use super::changed_pair::{ChangedPair, ObservedEnd, chat, har};
use crate::harness::config::{CREDENTIALS, route};
use crate::harness::{Simulator, config};
use serde_json::{Value, json};

type Change = fn(&mut Value, &Simulator);

/// What a gateway does with the request of a case.
#[derive(Debug, Default, PartialEq, Eq)]
struct ExpectedEnd {
    status: u16,
    code: Option<&'static str>,
    channel: Option<&'static str>,
    model: Option<&'static str>,
}

/// A pair of configurations and a request.
struct PairCase {
    name: &'static str,
    before: Change,
    after: Change,
    body: Value,
    /// Lines of `diff` about settings.
    settings: &'static [&'static str],
    /// Lines of `diff` about the request.
    request: &'static [&'static str],
    /// What the gateways do with the old and the new configuration.
    ends: [ExpectedEnd; 2],
    /// What `replay` prints of the access-log line of the old gateway; nothing if it is the same or cannot be judged.
    replayed: Option<&'static str>,
}

const LARGE: &str = "sim-large-2026-08";
const SMALL: &str = "sim-small-2026-08";

fn plain_body() -> Value {
    json!({"model": "demo-large", "messages": [{"role": "user", "content": "Hello"}]})
}

fn sent_to(channel: &'static str, model: &'static str) -> ExpectedEnd {
    ExpectedEnd {
        status: 200,
        code: None,
        channel: Some(channel),
        model: Some(model),
    }
}

fn refused(status: u16, code: &'static str) -> ExpectedEnd {
    ExpectedEnd {
        status,
        code: Some(code),
        ..ExpectedEnd::default()
    }
}

fn nothing(_: &mut Value, _: &Simulator) {}

/// Adds a second channel for chat requests, in tier 1.
fn spare(config: &mut Value, simulator: &Simulator) {
    let credential = json!({"bearer": CREDENTIALS[0]});
    config["channels"]["spare"] = config::channel(&simulator.url(), &["chat"], credential);
    config["channels"]["spare"]["tier"] = 1.into();
}

fn cases() -> Vec<PairCase> {
    let mut cases = cases_of_callers_and_models();
    cases.extend(cases_of_channels());
    cases.extend(cases_of_routes());
    cases
}

fn cases_of_callers_and_models() -> Vec<PairCase> {
    vec![
        PairCase {
            name: "a model has another name at its provider",
            before: nothing,
            after: |config, _| {
                config["channels"]["openai"]["models"]["demo-large"] = SMALL.into();
            },
            body: plain_body(),
            settings: &[
                "models\n",
                "channel openai: models.demo-large: sim-large-2026-08 → sim-small-2026-08",
            ],
            request: &[
                "model     openai: sim-large-2026-08 → sim-small-2026-08",
                r#"body      openai: model "sim-large-2026-08" → "sim-small-2026-08""#,
            ],
            ends: [sent_to("openai", LARGE), sent_to("openai", SMALL)],
            replayed: Some("now accepted, for openai (sim-small-2026-08)"),
        },
        PairCase {
            name: "a model is removed",
            before: nothing,
            after: |config, _| {
                config["models"] = json!({});
                for channel in ["openai", "messages"] {
                    let models = &mut config["channels"][channel]["models"];
                    models.as_object_mut().unwrap().remove("demo-large");
                }
            },
            body: plain_body(),
            settings: &["channel openai: models.demo-large: sim-large-2026-08 → not set"],
            request: &["→ refused with 404 model_not_found"],
            ends: [sent_to("openai", LARGE), refused(404, "model_not_found")],
            replayed: Some("now refused with 404 model_not_found"),
        },
        PairCase {
            name: "a caller may use fewer models",
            before: nothing,
            after: |config, _| config["callers"][0]["models"] = json!(["demo-small"]),
            body: plain_body(),
            settings: &[
                "callers\n",
                "caller ann: models: added demo-small; removed *",
            ],
            request: &["→ refused with 403 permission_denied"],
            ends: [sent_to("openai", LARGE), refused(403, "permission_denied")],
            replayed: Some("now refused with 403 permission_denied"),
        },
        PairCase {
            name: "a caller is removed",
            before: nothing,
            after: |config, _| {
                config["callers"].as_array_mut().unwrap().remove(0);
            },
            body: plain_body(),
            settings: &["caller ann: removed"],
            request: &["→ refused with 401 invalid_api_key"],
            ends: [sent_to("openai", LARGE), refused(401, "invalid_api_key")],
            replayed: Some("now refused with 401 invalid_api_key"),
        },
    ]
}

fn cases_of_channels() -> Vec<PairCase> {
    vec![
        PairCase {
            name: "channels swap their tiers",
            before: spare,
            after: |config, _| {
                config["channels"]["openai"]["tier"] = 1.into();
                config["channels"]["spare"]["tier"] = 0.into();
            },
            body: plain_body(),
            settings: &[
                "channels\n",
                "channel openai: tier: not set → 1",
                "channel spare: tier: 1 → 0",
            ],
            request: &[
                "channels  openai (tier 0, weight 1), spare (tier 1, weight 1) → spare (tier 0, weight 1), openai (tier 1, weight 1)",
            ],
            ends: [sent_to("openai", LARGE), sent_to("spare", LARGE)],
            replayed: None,
        },
        PairCase {
            name: "a channel takes the place of another",
            before: nothing,
            after: |config, simulator| {
                spare(config, simulator);
                config["channels"]["openai"]["protocols"] = json!(["responses"]);
            },
            body: plain_body(),
            settings: &[
                "channel openai: protocols: removed chat",
                "channel spare: added, base_url http://127.0.0.1:",
            ],
            request: &["channels  openai (tier 0, weight 1) → spare (tier 1, weight 1)"],
            ends: [sent_to("openai", LARGE), sent_to("spare", LARGE)],
            replayed: Some("now accepted, for spare (sim-large-2026-08)"),
        },
        PairCase {
            name: "the provider fails behind another base URL",
            before: nothing,
            after: |config, simulator| {
                let base_url = simulator.url_obeying("status=403");
                config["channels"]["openai"]["base_url"] = base_url.into();
                config["channels"]["openai"]["credential"] =
                    json!({"bearer": "sk-upstream-second-canary-31f8"});
            },
            body: plain_body(),
            settings: &[
                "channel openai: base_url: http://127.0.0.1:",
                "/~status=403/v1",
                "channel openai: credential.bearer: changed\n",
            ],
            request: &["url       openai: POST http://127.0.0.1:"],
            ends: [
                sent_to("openai", LARGE),
                ExpectedEnd {
                    status: 403,
                    ..sent_to("openai", LARGE)
                },
            ],
            replayed: None,
        },
    ]
}

fn cases_of_routes() -> Vec<PairCase> {
    vec![
        PairCase {
            name: "a route moves",
            before: nothing,
            after: |config, _| {
                route(config, "chat")["match"] = "POST /v2/chat/completions".into();
            },
            body: plain_body(),
            settings: &[
                "routes\n",
                "route chat: match: POST /v1/chat/completions → POST /v2/chat/completions",
            ],
            request: &[
                "route     chat → none",
                "→ refused with 404 unknown_url: no route matches",
            ],
            ends: [sent_to("openai", LARGE), refused(404, "unknown_url")],
            replayed: Some("now refused with 404 unknown_url"),
        },
        PairCase {
            name: "requests are no longer validated",
            before: nothing,
            after: |config, _| route(config, "chat")["request"] = json!([{"use": "body"}]),
            body: json!({"model": "demo-large", "temperature": 9, "messages": [{"role": "user", "content": "x"}]}),
            settings: &["filters\n", "route chat: request: validate removed"],
            request: &[
                "filters   validate removed",
                "verdict   refused with 400 invalid_value: ",
                "→ accepted, for openai (tier 0, weight 1)",
            ],
            ends: [refused(400, "invalid_value"), sent_to("openai", LARGE)],
            replayed: None,
        },
        PairCase {
            name: "a filter edits the body",
            before: nothing,
            after: |config, _| {
                route(config, "chat")["request"] =
                    json!([{"use": "body"}, "validate", "force_usage"]);
            },
            body: json!({"model": "demo-large", "stream": true, "messages": [{"role": "user", "content": "x"}]}),
            settings: &["route chat: request: force_usage added after validate"],
            request: &[
                "filters   force_usage added after validate",
                r#"body      openai: stream_options added: {"include_usage":true}"#,
            ],
            ends: [sent_to("openai", LARGE), sent_to("openai", LARGE)],
            replayed: None,
        },
        PairCase {
            name: "bodies may be smaller only",
            before: nothing,
            after: |config, _| config["chains"]["body"][2] = json!({"limit_body": "1KiB"}),
            body: json!({"model": "demo-large", "messages": [{"role": "user", "content": "x".repeat(2000)}]}),
            settings: &["chain body: limit_body: 32MiB → 1KiB"],
            request: &["→ refused with 413 request_too_large"],
            ends: [sent_to("openai", LARGE), refused(413, "request_too_large")],
            replayed: None,
        },
    ]
}

#[tokio::test]
async fn what_is_printed_of_a_changed_pair_is_what_two_gateways_do() {
    for case in cases() {
        let name = case.name;
        let pair = ChangedPair::new(case.before, case.after).await;
        let sample = chat(&case.body);
        let printed = pair.diff(std::slice::from_ref(&sample));
        assert_eq!(printed.code, 1, "{name}: {}", printed.stderr);
        for line in case.settings.iter().chain(case.request) {
            assert!(
                printed.stdout.contains(line),
                "{name}: {line} in:\n{}",
                printed.stdout
            );
        }
        assert!(printed.stdout.contains("requests: 1 of 1 differ"), "{name}");
        let secrets = CREDENTIALS
            .iter()
            .chain(&["sk-upstream-second-canary-31f8"]);
        for secret in secrets {
            assert!(
                !printed.stdout.contains(secret),
                "{name}:\n{}",
                printed.stdout
            );
        }
        let old = pair.observe(&pair.old, &sample).await;
        let new = pair.observe(&pair.new, &sample).await;
        assert_eq!([summary(&old), summary(&new)], case.ends, "{name}");
        assert_rewritten(name, &case.request.join("\n"), &old, &new);
        assert_replayed(&pair, &case, &sample, &old);
        // What the gateway of the new configuration did is what its dry run expects.
        let replayed = pair.replay(std::slice::from_ref(&new.line));
        assert_eq!(replayed.code, 0, "{name}:\n{}", replayed.stdout);
    }
}

/// The provider receives another body if, and only if, `diff` names a change of the body.
fn assert_rewritten(name: &str, printed: &str, old: &ObservedEnd, new: &ObservedEnd) {
    let (Some(old), Some(new)) = (&old.sent, &new.sent) else {
        return;
    };
    assert_eq!(
        old != new,
        printed.contains("body  "),
        "{name}: {old} {new}"
    );
}

fn assert_replayed(pair: &ChangedPair, case: &PairCase, sample: &Value, old: &ObservedEnd) {
    let name = case.name;
    let replayed = pair.replay(std::slice::from_ref(&old.line));
    match case.replayed {
        None => assert_eq!(replayed.code, 0, "{name}:\n{}", replayed.stdout),
        Some(words) => {
            assert_eq!(replayed.code, 1, "{name}:\n{}", replayed.stdout);
            assert!(
                replayed.stdout.contains(words),
                "{name}:\n{}",
                replayed.stdout
            );
        }
    }
    // A HAR file has the body, so that its verdict is that of the gateway.
    let [before, after] = &case.ends;
    let is_accepted = |end: &ExpectedEnd| end.channel.is_some();
    let replayed = pair.replay_har(&har(sample, before.status));
    let differs = is_accepted(before) != is_accepted(after);
    assert_eq!(
        replayed.code,
        i32::from(differs),
        "{name}:\n{}",
        replayed.stdout
    );
    let words = match after.code {
        Some(code) => format!("refused with {} {code}", after.status),
        None => "accepted ".into(),
    };
    assert!(
        replayed.stdout.contains(&words),
        "{name}: {words} in:\n{}",
        replayed.stdout
    );
}

fn summary(end: &ObservedEnd) -> ExpectedEnd {
    let known = |text: &Option<String>, all: &[&'static str]| -> Option<&'static str> {
        let text = text.as_deref()?;
        let found = all.iter().find(|one| **one == text);
        Some(*found.unwrap_or_else(|| panic!("unexpected {text}")))
    };
    let codes = [
        "model_not_found",
        "permission_denied",
        "invalid_api_key",
        "unknown_url",
        "invalid_value",
        "request_too_large",
    ];
    ExpectedEnd {
        status: end.status,
        code: known(&end.error_code, &codes),
        channel: known(&end.channel, &["openai", "spare"]),
        model: known(&end.channel_model, &[LARGE, SMALL]),
    }
}
