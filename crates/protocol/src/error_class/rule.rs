//! A row of the table of error classes.

use super::pattern::{matches_code, matches_message};
use super::received_error::{MessagePlace, ReceivedError};
use super::{ErrorClass, ErrorClassification, ErrorEvidence};

/// A row of the table: which errors it matches, and their class.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRule {
    pub class: ErrorClass,
    /// The provider or server that sends the error; empty for what several have in common.
    pub provider: &'static str,
    /// Documentation or public report of the error.
    pub source: &'static str,
    /// Lowest and highest status.
    pub(super) statuses: Option<(u16, u16)>,
    /// One of these codes or types; any if empty. See [`matches_code`].
    pub(super) codes: &'static [&'static str],
    /// The message's place, and its beginning. See [`matches_message`].
    pub(super) message: Option<(MessagePlace, &'static str)>,
    /// Whether the status leaves open whether the error is about the request.
    pub(super) is_open: bool,
}

impl ErrorRule {
    /// A row that matches any error, to be narrowed.
    pub(super) const fn new(class: ErrorClass, provider: &'static str) -> Self {
        Self {
            class,
            provider,
            source: "",
            statuses: None,
            codes: &[],
            message: None,
            is_open: false,
        }
    }

    pub(super) const fn status(self, status: u16) -> Self {
        self.statuses(status, status)
    }

    pub(super) const fn statuses(mut self, lowest: u16, highest: u16) -> Self {
        self.statuses = Some((lowest, highest));
        self
    }

    pub(super) const fn codes(mut self, codes: &'static [&'static str]) -> Self {
        self.codes = codes;
        self
    }

    pub(super) const fn message(mut self, place: MessagePlace, beginning: &'static str) -> Self {
        self.message = Some((place, beginning));
        self
    }

    pub(super) const fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    pub(super) const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// An error without a status, as in a stream, matches rows for any status by its codes.
    pub(super) fn matches(&self, error: &ReceivedError<'_>) -> bool {
        let has_status = match (self.statuses, error.status) {
            (None, _) => true,
            (Some((lowest, highest)), Some(status)) => (lowest..=highest).contains(&status),
            (Some(_), None) => !self.codes.is_empty(),
        };
        let has_code = || {
            self.codes.is_empty()
                || (error.codes.iter())
                    .any(|code| self.codes.iter().any(|pattern| matches_code(pattern, code)))
        };
        let has_message = || {
            self.message.is_none_or(|(place, beginning)| {
                (error.messages.iter())
                    .any(|(at, text)| *at == place && matches_message(beginning, text))
            })
        };
        has_status && has_code() && has_message()
    }

    pub(super) fn classification(&self) -> ErrorClassification {
        let evidence = match (self.message, self.is_open) {
            (Some(_), _) => ErrorEvidence::Text,
            (None, true) => ErrorEvidence::Status,
            (None, false) => ErrorEvidence::Code,
        };
        ErrorClassification {
            class: self.class,
            evidence,
        }
    }
}
