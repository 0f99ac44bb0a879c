//! Anthropic.

use super::super::ErrorClass::{ModelNotFound, RefusedAccount};
use super::super::received_error::MessagePlace::ErrorMessage;
use super::super::{ErrorClass, ErrorRule};

pub const RULES: &[ErrorRule] = &[
    anthropic(RefusedAccount)
        .status(400)
        .codes(&["invalid_request_error"])
        .message(ErrorMessage, "Your credit balance is too low")
        .source("claude-code issue 8327"),
    anthropic(RefusedAccount)
        .status(400)
        .codes(&["invalid_request_error"])
        .message(ErrorMessage, "This organization has been disabled$")
        .source("claude-code issue 19028"),
    anthropic(ModelNotFound)
        .status(404)
        .codes(&["not_found_error"])
        .message(ErrorMessage, "model: *$")
        .source("Anthropic documentation: errors"),
];

const fn anthropic(class: ErrorClass) -> ErrorRule {
    ErrorRule::new(class, "Anthropic")
}
