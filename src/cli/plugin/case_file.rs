//! Files of test cases, as `plugins/README.md` describes them.

use super::case_json::CaseJsonText;
use super::case_message::{CaseBodyDelivery, CaseInputMessage};
use super::expectation::CaseExpectation;
use super::rules::{CaseGrants, CaseRulesChoice};
use chrono::{Offset, Utc};
use headgate_protocol::date::read_rfc3339;
use headgate_wasm::{PropertySource, PropertyValue};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

/// Test cases of a plugin.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginTestFile {
    /// Configuration of the cases that have none of their own. Default: empty.
    pub configuration: Option<CaseJsonText>,
    /// Rules of the cases that have none of their own. Default: gateway.
    #[serde(default)]
    pub rules: CaseRulesChoice,
    /// What the plugin is granted, as in `plugins.*.grants`. Default: nothing.
    #[serde(default)]
    pub grants: CaseGrants,
    /// The time that the plugin sees in cases that have none of their own, as in RFC 3339. Default: the real one.
    pub time: Option<FixedCaseTime>,
    pub cases: Vec<PluginTestCase>,
}

/// The fixed time of a case.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct FixedCaseTime(pub SystemTime);

impl TryFrom<String> for FixedCaseTime {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let time = read_rfc3339(&text, Utc.fix()).filter(|time| time.timestamp() >= 0);
        let time = time.ok_or_else(|| {
            format!("`{text}` is not a time; write it as in RFC 3339: 2026-01-31T12:00:00Z")
        })?;
        Ok(Self(time.into()))
    }
}

/// One exchange, and what must come of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginTestCase {
    /// A sentence, unique in the file.
    pub name: String,
    /// Configuration of the plugin. Default: that of the file.
    pub configuration: Option<CaseJsonText>,
    /// Values of `proxy_get_property`, by their paths with dots. Default: none.
    #[serde(default)]
    pub properties: CaseProperties,
    /// What the caller sends. Default: `GET /` without a body.
    #[serde(default)]
    pub request: CaseInputMessage,
    /// What the provider responds. Default: the case ends after the request.
    pub response: Option<CaseInputMessage>,
    /// Responses to the HTTP calls of the plugin, in the order of the calls. Default: none.
    #[serde(default)]
    pub calls: Vec<CaseCallResponse>,
    /// Whether there is an exchange. Without one the case ends when the plugin has started and made its calls. Default: true.
    #[serde(default = "is_exchange_default")]
    pub exchange: bool,
    /// Default: those of the file.
    pub rules: Option<CaseRulesChoice>,
    /// Default: that of the file.
    pub time: Option<FixedCaseTime>,
    pub expect: CaseExpectation,
}

fn is_exchange_default() -> bool {
    true
}

/// The response to an HTTP call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseCallResponse {
    /// The channel that the plugin must call.
    pub channel: String,
    /// What the plugin receives. Default: status 503 without a body.
    pub response: Option<CaseInputMessage>,
    /// Whether there is no response. Default: false.
    #[serde(default)]
    pub fails: bool,
}

/// Properties that the plugin reads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct CaseProperties(BTreeMap<String, PropertyLiteral>);

/// A property as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a string, a number or a boolean")]
enum PropertyLiteral {
    Bool(bool),
    Int(i64),
    Fraction(f64),
    Text(String),
}

impl PropertySource for CaseProperties {
    fn property(&self, path: &[&str]) -> Option<PropertyValue> {
        Some(match self.0.get(&path.join("."))? {
            PropertyLiteral::Bool(value) => PropertyValue::Bool(*value),
            PropertyLiteral::Int(value) => PropertyValue::Int(*value),
            PropertyLiteral::Fraction(value) => {
                PropertyValue::Bytes(value.to_le_bytes().to_vec().into())
            }
            PropertyLiteral::Text(value) => PropertyValue::Text(value.clone()),
        })
    }
}

impl PluginTestFile {
    /// Reads a file. An error has the place in the text, if it has one.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: Self = serde_saphyr::from_str(text).map_err(|error| {
            let error = error.to_string();
            // The command has this word in front already.
            error.trim_start_matches("error: ").to_owned()
        })?;
        let mut names = BTreeSet::new();
        for case in &file.cases {
            if !names.insert(&case.name) {
                return Err(format!("two cases have the name `{}`", case.name));
            }
            case.check()
                .map_err(|reason| format!("case `{}`: {reason}", case.name))?;
        }
        Ok(file)
    }
}

impl PluginTestCase {
    /// Checks what types alone do not.
    fn check(&self) -> Result<(), &'static str> {
        let expects_messages = self.expect.request.is_some() || self.expect.expects_response();
        if !self.exchange && (self.response.is_some() || expects_messages) {
            return Err("a case with `exchange: false` has no messages");
        }
        let has_events =
            |message: &CaseInputMessage| matches!(message.body, CaseBodyDelivery::Events(_));
        if has_events(&self.request) {
            return Err("`events` is only for a response");
        }
        let expected = self.expect.request.as_ref();
        if expected.is_some_and(|request| request.events.is_some()) {
            return Err("`expect.request` cannot have `events`: only a response has them");
        }
        for call in &self.calls {
            if call.response.as_ref().is_some_and(has_events) {
                return Err("the response to a call has `body` or `json` only");
            }
            if call.fails && call.response.is_some() {
                return Err("a call that fails has no `response`");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_all_that_the_format_names() {
        let text = r#"
configuration: {name: x-served-by}
rules: none
time: 2026-01-31T12:00:00Z
grants: {request_headers: [cookie], query: [token], response_headers: [set-cookie]}
cases:
  - name: all
    rules: gateway
    time: 2026-02-01T00:00:00+01:00
    configuration: a text
    properties: {route_name: chat, response.code: 200, share: 0.5, is_new: true}
    request: &request {headers: {":path": /v1}, json: {b: 1, a: 2}}
    response: {chunks: [a, b]}
    calls: [{channel: guard, response: {body: "no"}}, {channel: guard, fails: true}]
    expect:
      request: {headers: {a: [b, {regex: c}]}, absent: [d], body: e, json: {f: 1}}
      response: {events: [a, {not_regex: b}]}
      log: [a]
      calls: [{channel: guard, headers: {":path": /check}, json: {}}]
  - name: a reply
    request: *request
    expect: {reply: {status: 403, body: "no"}}
  - {name: refused, expect: {configuration: refused}}
  - {name: a trap, expect: {trap: true}}
  - {name: a start, exchange: false, expect: {log: [a]}}
"#;
        let file = PluginTestFile::read(text).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = file.cases.iter().map(|case| &*case.name).collect();
        assert_eq!(names, ["all", "a reply", "refused", "a trap", "a start"]);
        assert_eq!(file.cases[0].calls.len(), 2);
        assert_eq!(file.cases[1].request.whole_body(), r#"{"b":1,"a":2}"#);
        let properties = [
            ("route_name", PropertyValue::Text("chat".to_owned())),
            ("response.code", PropertyValue::Int(200)),
            (
                "share",
                PropertyValue::Bytes(0.5_f64.to_le_bytes().to_vec().into()),
            ),
            ("is_new", PropertyValue::Bool(true)),
        ];
        for (path, expected) in properties {
            let path: Vec<&str> = path.split('.').collect();
            assert_eq!(file.cases[0].properties.property(&path), Some(expected));
        }
    }

    #[test]
    fn what_the_format_does_not_have_is_an_error() {
        let case = |members: &str| format!("cases:\n  - name: a\n    {members}\n");
        let table = [
            ("case: []".to_owned(), "line 1"),
            (case("expects: {}"), "expects"),
            (case("expects: {}"), "line 3"),
            (case("request: {}"), "expect"),
            (case("expect: {}\n    time: noon"), "RFC 3339"),
            (case("expect: {}\n    rules: envoy"), "envoy"),
            (
                case("expect: {response: {}}\n    exchange: false"),
                "has no messages",
            ),
            (case("expect: {response: {header: {}}}"), "header"),
            (case("expect: {configuration: accepted}"), "refused"),
            (case("expect: {reply: {status: many}}"), "line 3"),
            (
                case("{expect: {}, request: {events: [a]}}")
                    .replace("- name: a\n    {", "- {name: a, "),
                "only for a response",
            ),
            (
                case("expect: {request: {events: [a]}}"),
                "cannot have `events`",
            ),
            (
                case("expect: {}\n    calls: [{channel: b, fails: true, response: {}}]"),
                "no `response`",
            ),
            (
                case("expect: {}\n  - {name: a, expect: {}}"),
                "two cases have the name `a`",
            ),
        ];
        for (text, expected) in table {
            let error = PluginTestFile::read(&text).unwrap_err();
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }
}
