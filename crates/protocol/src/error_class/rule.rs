//! The rows that are built in, as parsed from `providers.txt`.

use super::pattern::{CodePattern, MessagePattern};
use super::received_error::{ErrorMessageField, ReceivedError};
use super::{ErrorClass, ErrorClassification, ErrorEvidence};
use std::sync::LazyLock;

/// The rows in the order in which they are tried. Parsed at the first error: a start costs nothing.
pub static RULES: LazyLock<Vec<BuiltInErrorRule>> =
    LazyLock::new(|| parse(include_str!("providers.txt")));

/// A row of the table: which errors it matches, and their class.
#[derive(Clone, Debug)]
pub struct BuiltInErrorRule {
    /// The provider or server that sends the error.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "for the documentation, which a test writes")
    )]
    pub provider: &'static str,
    pub class: ErrorClass,
    /// Lowest and highest status.
    pub statuses: Option<(u16, u16)>,
    /// One of them must match a code or type of the error; any error matches if there is none.
    pub codes: Vec<CodePattern<'static>>,
    pub message: Option<(ErrorMessageField, MessagePattern<'static>)>,
}

impl BuiltInErrorRule {
    /// The error's classification if the row matches. An error without a status, as in a stream, matches rows for any
    /// status by its codes.
    pub fn classification(&self, error: &ReceivedError<'_>) -> Option<ErrorClassification> {
        let has_status = match (self.statuses, error.status) {
            (None, _) => true,
            (Some((lowest, highest)), Some(status)) => (lowest..=highest).contains(&status),
            (Some(_), None) => !self.codes.is_empty(),
        };
        let has_code = || {
            self.codes.is_empty()
                || error
                    .codes()
                    .any(|code| self.codes.iter().any(|one| one.matches(code)))
        };
        let has_message = || {
            self.message.is_none_or(|(place, pattern)| {
                (error.messages.iter()).any(|(at, text)| *at == place && pattern.matches(text))
            })
        };
        (has_status && has_code() && has_message()).then(|| ErrorClassification {
            class: self.class,
            evidence: self.evidence(),
        })
    }

    pub fn evidence(&self) -> ErrorEvidence {
        match (&self.message, self.class) {
            (Some(_), _) => ErrorEvidence::Text,
            // Of the statuses alone, only those of a missing model leave open what is missing.
            (None, ErrorClass::ModelNotFound) if self.codes.is_empty() => ErrorEvidence::Status,
            (None, _) => ErrorEvidence::Code,
        }
    }
}

fn parse(table: &'static str) -> Vec<BuiltInErrorRule> {
    let mut provider = "";
    let mut rules = Vec::new();
    for line in table.lines() {
        if let Some(name) = line.strip_prefix('[') {
            provider = name.trim_end_matches(']');
        } else if !line.is_empty() && !line.starts_with('#') {
            let rule = parse_row(provider, line);
            rules.push(rule.expect("each row of providers.txt has four columns, as a test checks"));
        }
    }
    rules
}

/// `class | status | codes | message`, where `-` is an empty column.
fn parse_row(provider: &'static str, line: &'static str) -> Option<BuiltInErrorRule> {
    let mut columns = line
        .split(" | ")
        .map(|column| (column != "-").then_some(column));
    let class = ErrorClass::named(columns.next()??)?;
    let statuses = columns.next()?.map(parse_statuses);
    let codes = columns.next()?.map(|codes| codes.split(", "));
    let message = columns.next()?.map(parse_message);
    Some(BuiltInErrorRule {
        provider,
        class,
        statuses: match statuses {
            Some(statuses) => Some(statuses?),
            None => None,
        },
        codes: codes.into_iter().flatten().map(CodePattern).collect(),
        message: match message {
            Some(message) => Some(message?),
            None => None,
        },
    })
}

fn parse_statuses(column: &str) -> Option<(u16, u16)> {
    let (lowest, highest) = column.split_once('-').unwrap_or((column, column));
    Some((lowest.parse().ok()?, highest.parse().ok()?))
}

fn parse_message(column: &'static str) -> Option<(ErrorMessageField, MessagePattern<'static>)> {
    let (place, pattern) = column.split_once(": ")?;
    Some((ErrorMessageField::named(place)?, MessagePattern(pattern)))
}
