//! What is masked in a configuration, and what is not.

use super::*;
use crate::source::ConfigText;

const SECRET: &str = "sk-123";

fn shown(text: &str, secrets: SecretSpans) -> String {
    let mut source = ConfigText::new(text);
    source.mask(secrets.ranges);
    source.mask(secret_shape::in_text(text));
    let lines = 1..=text.lines().count() as u32;
    let line = |line| {
        let place = crate::source::TextSpan {
            line,
            column: 1,
            length: 1,
        };
        source.snippet(place).unwrap().text
    };
    lines.map(line).collect::<Vec<_>>().join("\n")
}

fn in_valid(text: &str) -> String {
    let root: YamlNode = serde_saphyr::from_str(text).unwrap();
    shown(text, in_tree(&root, text))
}

#[test]
fn secrets_are_masked_wherever_they_are_written() {
    let cases = [
        "credential: {bearer: sk-123}",
        "credential: {aws: {access_key_id: sk-1234, secret_access_key: sk-123, session_token: sk-123, region: eu}}",
        "credental: {anything: sk-123}",
        "credential:\n  header: {name: x-key, value: sk-123}",
        "credential:\n  bearer: |\n    sk-123\n    sk-123",
        "bearr: 'sk-123'",
        "key_sha256: sk-123",
        "headers: {Authorization: Bearer sk-123, x-api-key: \"sk-123\"}",
        "base_url: https://user:sk-123@host/v1",
        "credential: {bearer: \"${KEY:-sk-123}\"}",
        "x: &x sk-123\ncredential: {api_key: *x}",
        "state: {redis: {pasword: sk-123}}",
        "credential: {sk-123: x}",
        "credential: {'sk-123': {a: b}}",
        "credential: sk-123",
        "credentials: [sk-123, {bearer: sk-123}]",
        "callers: [{name: ann, key: sk-12345}]",
        "callers: [{name: ann, anything: sk-12345}]",
        "callers: [sk-12345]",
        "callers: {ann: sk-12345}",
        "headers: {x-goog-api-key: sk-123}",
        "task_keys: [sk-123]",
        "credential: {bearer: {sk-123: x}}",
        "a: \"sk-123456 and more\" # sk-1234567",
        "models: {demo: Bearer sk-1234}",
    ];
    for text in cases {
        for shown in [in_valid(text), shown(text, in_text(text))] {
            assert!(!shown.contains(SECRET), "{shown}");
            assert!(shown.contains("[secret]"), "{shown}");
        }
    }
}

#[test]
fn any_value_in_a_secret_position_is_masked() {
    for text in [
        "credential: {hunter2x: x}",
        "credential: {bearer: {hunter2x: x}}",
        "credential: [hunter2x]",
        "callers: [{name: ann, key: hunter2x}]",
        "callers: [{name: ann, secret_of_ann: hunter2x}]",
        "callers: [hunter2x]",
        "callers: {ann: hunter2x}",
        "calers: [hunter2x]",
        "callers: [{name: ann, keys: [{label: a, key_sha256: hunter2x}]}]",
        "callers: [{name: ann, keys: [{label: a, key: hunter2x}]}]",
        "callers: [{name: ann, keys: [hunter2x]}]",
        "callers: [{name: ann, keys: hunter2x}]",
        "channels: {a: {credentals: [{bearer: hunter2x}]}}",
        "a: &k hunter2x\ncredential: {bearer: *k}",
        "credential:\n  bearer: >\n    hunter2x\n    hunter2x\n",
    ] {
        let shown = in_valid(text);
        assert!(!shown.contains("hunter2x"), "{shown}");
        let root: YamlNode = serde_saphyr::from_str(text).unwrap();
        let texts = in_tree(&root, text).texts;
        assert!(texts.iter().any(|text| text.contains("hunter2x")), "{text}");
    }
}

#[test]
fn what_is_no_secret_stays_readable() {
    let cases = [
        "credential: {bearer: \"${KEY}\"}",
        "credential:\n  bearer: ${KEY}\nweight: 3",
        "credential: {bearer: {file: keys/primary}}",
        "headers: {x-title: gate}",
        "base_url: https://host/v1",
        "tls: {key: gate.pem}",
        "callers: [{name: ann, models: [demo-small], limits: {concurrent: 3}}]",
        "callers: [{name: ann, keys: [{label: old, not_after: 2027-01-01, routes: [chat], networks: [10.0.0.0/8], models: [a], budget: {cost_per_day: 2}}]}]",
        "set_headers: {x-v: {source: path, match: ^/v1, value: $1}}",
        "credential: {beaer: \"${KEY}\", token: \"${KEY}\"}",
        "credential: {aws: {access_key_id: \"${KEY}\", region: eu-west-1, service: bedrock}}",
        "callers: [{name: ann, expires: 2027-01-01}]",
        "callers: [{name: ann, expires: \"2027-01-01T00:00:00Z\"}]",
        "plugins: {p: {sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}}",
    ];
    for text in cases {
        assert_eq!(in_valid(text), text);
    }
}

#[test]
fn a_broken_file_is_masked_by_its_text() {
    let text =
        "credential:\n  bearr: sk-123\n  other: sk-123\nweight: 3\na: {api_key: sk-123, b: [";
    let expected = "credential:\n  bearr: [secret]\n  [secret]\nweight: 3\na: {api_key: [secret]";
    assert_eq!(shown(text, in_text(text)), expected);
}
