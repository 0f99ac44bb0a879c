//! What an error says: its status, its codes and types, and its messages, from all places where providers put them.

use super::super::json::skim;
use std::borrow::Cow;
use std::ops::Range;

/// An error as received.
#[derive(Debug, Default)]
pub struct ReceivedError<'a> {
    /// `None` for an event that names no status.
    pub status: Option<u16>,
    /// Codes and types, as spelled; numbers as their digits.
    pub codes: Vec<&'a str>,
    pub messages: Vec<(MessagePlace, Cow<'a, str>)>,
}

/// Where a message is: part of a provider's format, which a message pattern belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagePlace {
    /// `error.message`
    ErrorMessage,
    /// `error`, a text
    ErrorText,
    /// `message`, `msg` or `error_msg` of the body itself
    Message,
    /// `detail`, a text
    Detail,
}

/// Members whose text is a code or type.
const CODES: &[&[u8]] = &[
    b"code",
    b"type",
    b"status",
    b"reason",
    b"errorCode",
    b"error_code",
    b"error_type",
    b"__type",
    b"Code",
    b"err_code",
    b"errcode",
    b"status_code",
    b"err_type",
    b"Type",
];

/// Members whose number may be a status.
const STATUSES: &[&[u8]] = &[
    b"code",
    b"status",
    b"status_code",
    b"statusCode",
    b"http_status",
    b"errorCode",
    b"error_code",
];

impl<'a> ReceivedError<'a> {
    /// An error response. A status that only says that something failed gives way to the one that the body names.
    pub fn from_response(status: u16, body: &'a [u8]) -> Self {
        let mut error = Self::from_event(body);
        let named = error.status.take();
        error.status = match status {
            ..400 | 400 | 500 => named.or(Some(status)),
            _ => Some(status),
        };
        error
    }

    /// An error event of a stream.
    pub fn from_event(data: &'a [u8]) -> Self {
        let mut error = Self::default();
        let whole = 0..data.len();
        let body = match data.trim_ascii_start().first() {
            Some(b'[') => skim::elements(data, whole).next(),
            _ => Some(whole),
        };
        if let Some(body) = body {
            error.read_body(data, body);
        }
        error
    }

    fn read_body(&mut self, data: &'a [u8], body: Range<usize>) {
        // The error object is more specific than what stands beside it.
        for (key, value) in skim::members(data, body.clone()) {
            match key {
                b"error" | b"Error" if data[value.start] == b'{' => self.read_error(data, value),
                b"error" => self.read_message(MessagePlace::ErrorText, data, value),
                b"errors" => {
                    let first = skim::elements(data, value).next();
                    first
                        .into_iter()
                        .for_each(|first| self.read_error(data, first));
                }
                b"response" | b"Response" => {
                    let inner = skim::members(data, value);
                    let mut errors = inner.filter(|(key, _)| matches!(*key, b"error" | b"Error"));
                    errors
                        .by_ref()
                        .for_each(|(_, error)| self.read_error(data, error));
                }
                b"output" | b"base_resp" | b"header" => {
                    self.read_members(MessagePlace::Message, data, value)
                }
                b"detail" if data[value.start] == b'{' => self.read_error(data, value),
                b"detail" => self.read_message(MessagePlace::Detail, data, value),
                _ => {}
            }
        }
        self.read_members(MessagePlace::Message, data, body);
    }

    /// The error object, with the objects that refine it.
    fn read_error(&mut self, data: &'a [u8], error: Range<usize>) {
        self.read_members(MessagePlace::ErrorMessage, data, error.clone());
        for (key, value) in skim::members(data, error) {
            match key {
                b"details" => {
                    for detail in skim::elements(data, value) {
                        self.read_codes(data, detail);
                    }
                }
                b"innererror" | b"metadata" => self.read_codes(data, value),
                _ => {}
            }
        }
    }

    fn read_members(&mut self, place: MessagePlace, data: &'a [u8], object: Range<usize>) {
        self.read_codes(data, object.clone());
        for (key, value) in skim::members(data, object) {
            match key {
                b"message" | b"msg" | b"error_msg" | b"Message" | b"status_msg"
                | b"errorMessage" => {
                    self.read_message(place, data, value);
                }
                _ => {}
            }
        }
    }

    fn read_codes(&mut self, data: &'a [u8], object: Range<usize>) {
        for (key, value) in skim::members(data, object) {
            let Some(code) = scalar(data, value) else {
                continue;
            };
            if STATUSES.contains(&key) && self.status.is_none() {
                self.status = code
                    .parse()
                    .ok()
                    .filter(|status| (400..=599).contains(status));
            }
            if CODES.contains(&key) {
                // A namespace before the code is no part of it.
                self.codes.push(code.rsplit('#').next().unwrap_or(code));
            }
        }
    }

    /// A text without white space in the place of a message is a code.
    fn read_message(&mut self, place: MessagePlace, data: &'a [u8], value: Range<usize>) {
        if let Some(code) = skim::plain_string(data, value.clone())
            && place == MessagePlace::ErrorText
            && !code.contains(char::is_whitespace)
        {
            self.codes.push(code);
        }
        let text: Option<Cow<'a, str>> = match skim::plain_string(data, value.clone()) {
            Some(text) => Some(Cow::Borrowed(text)),
            None => serde_json::from_slice::<String>(&data[value])
                .ok()
                .map(Cow::Owned),
        };
        self.messages.extend(text.map(|text| (place, text)));
    }
}

/// The text of a string without escapes, or the digits of a number.
fn scalar(data: &[u8], value: Range<usize>) -> Option<&str> {
    match data.get(value.start)? {
        b'"' => skim::plain_string(data, value),
        b'0'..=b'9' | b'-' => std::str::from_utf8(&data[value]).ok(),
        _ => None,
    }
}
