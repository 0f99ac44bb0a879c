//! Literals that mean more than their text: pointers, regular expressions, networks, percentages.

use std::error::Error;
use std::net::IpAddr;

use ipnet::IpNet;
use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};

use crate::nodes::{CelNode, LinearRegex};
use crate::pointer::DocumentPointer;

/// The most that the automaton of a regular expression may take, in bytes.
const AUTOMATON_BYTES: usize = 512 << 10;
/// The most that making it may take.
const CONSTRUCTION_BYTES: usize = 2 << 20;

pub(super) fn pointer(text: &str) -> Result<DocumentPointer, String> {
    DocumentPointer::parse(text).map_err(|reason| format!("the pointer {reason}"))
}

/// Compiles a regular expression to an automaton; the error says what is wrong, and what to do.
pub(super) fn regex(pattern: &str) -> Result<LinearRegex, (String, Option<&'static str>)> {
    let automaton = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .dfa_size_limit(Some(AUTOMATON_BYTES))
        .determinize_size_limit(Some(CONSTRUCTION_BYTES));
    let states = thompson::Config::new()
        .nfa_size_limit(Some(AUTOMATON_BYTES / 2))
        .which_captures(WhichCaptures::None);
    let built = dense::Builder::new()
        .configure(automaton)
        .thompson(states)
        .build(&with_ascii_classes(pattern));
    built.map(LinearRegex).map_err(|error| {
        let mut reason: &dyn Error = &error;
        while let Some(source) = reason.source() {
            reason = source;
        }
        let reason = reason.to_string();
        match reason.rsplit_once("error: ") {
            Some((_, reason)) => (format!("invalid regular expression: {reason}"), None),
            None => (
                "the regular expression is too large".into(),
                Some("shorten counted repetitions, or write * and + instead"),
            ),
        }
    })
}

pub(super) fn network(text: &str) -> Result<IpNet, String> {
    let address: Option<IpAddr> = text.parse().ok();
    let network = match address {
        Some(address) => Some(IpNet::from(address)),
        None => text.parse().ok(),
    };
    network.ok_or_else(|| "the network must be an address or a range such as 10.0.0.0/8".into())
}

/// Refuses a percentage that is written as a literal and not one.
pub(super) fn percent(node: &CelNode) -> Result<(), String> {
    let is_valid = match node {
        CelNode::Int(value) => (0..=100).contains(value),
        CelNode::Double(value) => (0.0..=100.0).contains(value),
        CelNode::Null | CelNode::Bool(_) | CelNode::Text(_) => false,
        _ => true,
    };
    match is_valid {
        true => Ok(()),
        false => Err("the percentage of sample must be a number from 0 to 100".into()),
    }
}

/// Writes out `\d`, `\s`, `\w` and `\b` as those of ASCII, which they are in CEL.
fn with_ascii_classes(pattern: &str) -> String {
    let mut changed = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            changed.push(character);
            continue;
        }
        let escaped = characters.next();
        changed.push_str(match escaped {
            Some('b') => r"(?-u:\b)",
            Some('B') => r"(?-u:\B)",
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('s') => r"[\t\n\f\r ]",
            Some('S') => r"[^\t\n\f\r ]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            _ => {
                changed.push(character);
                changed.extend(escaped);
                continue;
            }
        });
    }
    changed
}
