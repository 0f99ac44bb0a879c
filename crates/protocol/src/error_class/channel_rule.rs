//! A row of a channel's own table, as its operator writes it.

use super::pattern::{CodePattern, MessagePattern};
use super::received_error::ReceivedError;
use super::{ErrorClass, ErrorClassification, ErrorEvidence};

/// Which errors of a channel have which class. All conditions must hold; one that is absent or empty holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelErrorRule {
    pub class: ErrorClass,
    /// One of these statuses.
    pub statuses: Vec<u16>,
    /// A code or type of the error, as [`CodePattern`] compares them.
    pub code: Option<Box<str>>,
    /// The beginning of a message, wherever the error has it, as [`MessagePattern`] compares them.
    pub message: Option<Box<str>>,
}

impl ChannelErrorRule {
    pub(super) fn classification(&self, error: &ReceivedError<'_>) -> Option<ErrorClassification> {
        let has_status = self.statuses.is_empty()
            || (error.status).is_some_and(|status| self.statuses.contains(&status));
        let has_code = |code| error.codes().any(|one| CodePattern(code).matches(one));
        let has_message = |message| {
            (error.messages.iter()).any(|(_, text)| MessagePattern(message).matches(text))
        };
        let matches = has_status
            && self.code.as_deref().is_none_or(has_code)
            && self.message.as_deref().is_none_or(has_message);
        matches.then_some(ErrorClassification {
            class: self.class,
            evidence: match self.message {
                Some(_) => ErrorEvidence::Text,
                None => ErrorEvidence::Code,
            },
        })
    }
}
