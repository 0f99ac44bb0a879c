//! What a test case expects, and the comparison with what happened.

use super::case_json::present;
use super::matcher::{HeaderMatcher, TextMatcher, all_match, list};
use super::outcome::{CaseOutcome, CaseRunEnd, PluginOutputMessage, RecordedCall};
use crate::cli::case_report::CaseMismatches;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What must come of a case. What is not named is not compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseExpectation {
    /// The request as the provider receives it.
    pub request: Option<MessageExpectation>,
    /// The response as the caller receives it.
    response: Option<MessageExpectation>,
    /// The plugin's local reply. Without it, a reply fails the case.
    reply: Option<ReplyExpectation>,
    /// Each matches at least one line of the log.
    #[serde(default)]
    log: Vec<TextMatcher>,
    /// The calls that the plugin made, all of them, in order.
    calls: Option<Vec<CallExpectation>>,
    /// That the plugin refuses its configuration.
    configuration: Option<ExpectedConfigRefusal>,
    /// Whether the plugin traps. Without it, a trap fails the case.
    #[serde(default)]
    trap: bool,
}

/// What a message must be.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageExpectation {
    #[serde(default)]
    headers: BTreeMap<String, HeaderMatcher>,
    /// Headers that must not be there.
    #[serde(default)]
    absent: Vec<String>,
    /// The whole body.
    body: Option<TextMatcher>,
    /// The whole body, as JSON.
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
    /// The events of the body, without the empty line after each.
    pub events: Option<Vec<TextMatcher>>,
}

/// What a local reply must be: a message with a status.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyExpectation {
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, HeaderMatcher>,
    #[serde(default)]
    absent: Vec<String>,
    body: Option<TextMatcher>,
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
}

/// What a call must be: a message to a channel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallExpectation {
    channel: String,
    #[serde(default)]
    headers: BTreeMap<String, HeaderMatcher>,
    #[serde(default)]
    absent: Vec<String>,
    body: Option<TextMatcher>,
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ExpectedConfigRefusal {
    Refused,
}

impl CaseExpectation {
    /// Whether something is expected of a response or a reply.
    pub fn expects_response(&self) -> bool {
        self.response.is_some() || self.reply.is_some()
    }

    /// Compares what happened with the expectation.
    pub fn compare(self, outcome: &CaseOutcome, mismatches: &mut CaseMismatches) {
        let end = match (&self.configuration, self.trap) {
            (Some(ExpectedConfigRefusal::Refused), _) => "the plugin refuses its configuration",
            (None, true) => "a trap of the plugin",
            (None, false) => "no failure of the plugin",
        };
        let received = match &outcome.end {
            CaseRunEnd::Completed => None,
            CaseRunEnd::Refused(reason) => Some((self.configuration.is_some(), reason)),
            CaseRunEnd::Trap(reason) => Some((self.trap && self.configuration.is_none(), reason)),
            CaseRunEnd::Failure(reason) => Some((false, reason)),
        };
        match received {
            Some((is_expected, reason)) if !is_expected => mismatches.add("outcome", end, reason),
            None if self.configuration.is_some() || self.trap => {
                mismatches.add("outcome", end, "no failure of the plugin");
            }
            _ => {}
        }
        match (self.reply, &outcome.reply) {
            (None, None) => {}
            (None, Some(reply)) => mismatches.add("local reply", "none", reply),
            (Some(_), None) => mismatches.add("local reply", "one", "none"),
            (Some(expected), Some(reply)) => expected.compare(reply, mismatches),
        }
        let messages = [
            ("request", self.request, &outcome.request),
            ("response", self.response, &outcome.response),
        ];
        for (place, expected, received) in messages {
            match (expected, received) {
                (Some(_), None) => mismatches.add(place, "a message", "none was passed on"),
                (Some(expected), Some(received)) => expected.compare(place, received, mismatches),
                (None, _) => {}
            }
        }
        if let Some(expected) = self.calls {
            compare_calls(expected, &outcome.calls, mismatches);
        }
        for matcher in self
            .log
            .iter()
            .filter(|line| !line.matches_lines(&outcome.log))
        {
            mismatches.add("log", matcher, format!("{:#?}", outcome.log));
        }
    }
}

impl MessageExpectation {
    fn compare(self, place: &str, received: &PluginOutputMessage, mismatches: &mut CaseMismatches) {
        for (name, matcher) in &self.headers {
            let values = received.values(name);
            if !matcher.matches(&values) {
                let received = match values.as_slice() {
                    [] => "the header is absent".to_owned(),
                    [value] => format!("{value:?}"),
                    values => format!("{values:?}"),
                };
                mismatches.add(format!("{place} header `{name}`"), matcher, received);
            }
        }
        for name in &self.absent {
            let values = received.values(name);
            if !values.is_empty() {
                let place = format!("{place} header `{name}`");
                mismatches.add(place, "the header is absent", values.join(", "));
            }
        }
        let body = String::from_utf8_lossy(&received.body);
        if let Some(matcher) = self.body.filter(|matcher| !matcher.matches(&body)) {
            mismatches.add(format!("{place} body"), matcher, format!("{body:?}"));
        }
        if let Some(expected) = self.json
            && serde_json::from_str::<Value>(&body).ok().as_ref() != Some(&expected)
        {
            mismatches.add(format!("{place} json"), expected, &body);
        }
        if let Some(matchers) = self.events {
            let events: Vec<&str> = body.split_terminator("\n\n").collect();
            if !all_match(&matchers, &events) {
                let place = format!("{place} events");
                mismatches.add(place, list(&matchers), format!("{events:?}"));
            }
        }
    }
}

impl ReplyExpectation {
    fn compare(self, reply: &PluginOutputMessage, mismatches: &mut CaseMismatches) {
        if let Some(status) = self.status {
            let received = reply.values(":status").concat();
            if received != status.to_string() {
                mismatches.add("local reply status", status, received);
            }
        }
        let message = MessageExpectation {
            headers: self.headers,
            absent: self.absent,
            body: self.body,
            json: self.json,
            events: None,
        };
        message.compare("local reply", reply, mismatches);
    }
}

fn compare_calls(
    expected: Vec<CallExpectation>,
    calls: &[RecordedCall],
    mismatches: &mut CaseMismatches,
) {
    let channels: Vec<&str> = calls.iter().map(|call| &*call.channel).collect();
    let wanted: Vec<&str> = expected.iter().map(|call| &*call.channel).collect();
    if channels != wanted {
        mismatches.add("calls", format!("{wanted:?}"), format!("{channels:?}"));
        return;
    }
    for (number, (expected, call)) in expected.into_iter().zip(calls).enumerate() {
        let message = MessageExpectation {
            headers: expected.headers,
            absent: expected.absent,
            body: expected.body,
            json: expected.json,
            events: None,
        };
        let place = format!("call {} to `{}`:", number + 1, call.channel);
        message.compare(&place, &call.message, mismatches);
    }
}
