//! One directive as written, and the parsing of its value.

use super::known_directives::KNOWN;
use http::{Method, StatusCode};
use std::time::Duration;
use thiserror::Error;

/// The maximum size of the response text that may be requested, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 << 20;

/// One directive as written.
#[derive(Clone, Copy)]
pub struct RawDirective<'t> {
    pub name: &'t str,
    pub value: &'t str,
}

/// Why directives are invalid.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DirectiveError {
    #[error("unknown directive `{0}`; known are {known}", known = KNOWN.map(|(name, _)| name).join(", "))]
    Unknown(String),
    #[error("directive `{name}`: `{value}` is not {wanted}")]
    Value {
        name: String,
        value: String,
        wanted: &'static str,
    },
    #[error("directives ask for more than {MAX_TEXT_BYTES} bytes of text")]
    TooMuchText,
}

impl RawDirective<'_> {
    pub fn duration(self) -> Result<Duration, DirectiveError> {
        const WANTED: &str = "a duration such as 500ms, 2s or 1m";
        let digits = self
            .value
            .trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = match &self.value[digits.len()..] {
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "" if digits == "0" => 0.0,
            _ => return Err(self.refuse(WANTED)),
        };
        let seconds = digits.parse::<f64>().map_err(|_| self.refuse(WANTED))? * unit;
        Duration::try_from_secs_f64(seconds).map_err(|_| self.refuse(WANTED))
    }

    pub fn status(self) -> Result<StatusCode, DirectiveError> {
        const WANTED: &str = "a final status that has a body, 200 to 599";
        let status = StatusCode::from_bytes(self.value.as_bytes()).ok();
        status
            .filter(|status| matches!(status.as_u16(), 200..=599 if !matches!(status.as_u16(), 204 | 205 | 304)))
            .ok_or_else(|| self.refuse(WANTED))
    }

    pub fn number(self) -> Result<u64, DirectiveError> {
        let number = self.value.parse();
        number.map_err(|_| self.refuse("an integer"))
    }

    pub fn size(self) -> Result<usize, DirectiveError> {
        match self.value.parse() {
            Ok(size) if size <= MAX_TEXT_BYTES => Ok(size),
            _ => Err(self.refuse("an integer up to 268435456")),
        }
    }

    pub fn word(self) -> Result<String, DirectiveError> {
        if self.value.is_empty() {
            return Err(self.refuse("a word"));
        }
        Ok(self.value.to_owned())
    }

    pub fn method(self) -> Result<Method, DirectiveError> {
        let methods = [Method::GET, Method::POST, Method::PUT, Method::DELETE];
        let found = methods
            .into_iter()
            .find(|method| method.as_str().eq_ignore_ascii_case(self.value));
        found.ok_or_else(|| self.refuse("GET, POST, PUT or DELETE"))
    }

    pub fn flag(self) -> Result<bool, DirectiveError> {
        match self.value {
            "" | "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.refuse("no value, true or false")),
        }
    }

    pub fn refuse(self, wanted: &'static str) -> DirectiveError {
        DirectiveError::Value {
            name: self.name.to_owned(),
            value: self.value.to_owned(),
            wanted,
        }
    }
}
