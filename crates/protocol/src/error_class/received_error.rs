//! What an error says: its status, its codes and types, and its messages, from all places where providers put them.

use crate::json::skim;
use std::borrow::Cow;
use std::ops::Range;

/// An error as received.
#[derive(Debug, Default)]
pub struct ReceivedError<'a> {
    /// `None` for an event that names no status.
    pub status: Option<u16>,
    codes: Vec<Cow<'a, str>>,
    pub messages: Vec<(ErrorMessageField, Cow<'a, str>)>,
}

/// Where a message is: a part of a provider's format, to which a message pattern belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorMessageField {
    /// `error.message`, also of the first of `errors`
    ErrorMessage,
    /// `error`, a text
    ErrorText,
    /// `message`, or a member of another name that stands for it, of the body itself
    Message,
    /// `detail`, a text
    Detail,
}

/// Bounds of what is compared with the table, whatever a provider sends.
const CODE_BYTES_MAX: usize = 128;
const CODES_MAX: usize = 32;
const MESSAGE_BYTES_MAX: usize = 1024;
const MESSAGES_MAX: usize = 8;

/// Members whose text or number is a code or type.
const CODES: &[&[u8]] = &[
    b"code",
    b"type",
    b"status",
    b"reason",
    b"errorCode",
    b"error_code",
    b"errorType",
    b"error_type",
    b"err_code",
    b"errcode",
    b"status_code",
    b"http_code",
    b"__type",
    b"Code",
];

/// Members whose number may be a status.
const STATUSES: &[&[u8]] = &[
    b"code",
    b"status",
    b"status_code",
    b"statusCode",
    b"http_code",
    b"http_status",
    b"raw_status_code",
    b"errorCode",
    b"error_code",
];

/// Members whose text is a message.
const MESSAGES: &[&[u8]] = &[
    b"message",
    b"msg",
    b"error_msg",
    b"err_msg",
    b"errorMessage",
    b"error_message",
    b"status_msg",
    b"Message",
];

impl<'a> ReceivedError<'a> {
    /// An error response. A status that only says that something failed gives way to the one that the body names; a
    /// success status says nothing about an error in its body.
    pub fn from_response(status: u16, body: &'a [u8]) -> Self {
        let mut error = Self::from_event(body);
        let named = error.status.take();
        error.status = match status {
            ..400 => named,
            400 | 500 => named.or(Some(status)),
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

    /// The codes and types, as spelled.
    pub fn codes(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(AsRef::as_ref)
    }

    /// The error object is read first: it is more specific than what stands beside it.
    fn read_body(&mut self, data: &'a [u8], body: Range<usize>) {
        for (key, value) in skim::members(data, body.clone()) {
            let is_object = data[value.start] == b'{';
            match key {
                b"error" | b"Error" | b"detail" if is_object => self.read_error(data, value),
                b"error" => self.read_message(ErrorMessageField::ErrorText, data, value),
                b"detail" => self.read_message(ErrorMessageField::Detail, data, value),
                b"errors" => {
                    if let Some(first) = skim::elements(data, value).next() {
                        self.read_error(data, first);
                    }
                }
                b"response" | b"Response" => {
                    for (key, value) in skim::members(data, value) {
                        if matches!(key, b"error" | b"Error") {
                            self.read_error(data, value);
                        }
                    }
                }
                b"output" | b"base_resp" | b"header" => {
                    self.read_members(ErrorMessageField::Message, key, data, value);
                }
                _ => {}
            }
        }
        self.read_members(ErrorMessageField::Message, b"", data, body);
    }

    /// The error object, with the objects that refine it.
    fn read_error(&mut self, data: &'a [u8], error: Range<usize>) {
        self.read_members(
            ErrorMessageField::ErrorMessage,
            b"error",
            data,
            error.clone(),
        );
        for (key, value) in skim::members(data, error) {
            match key {
                b"details" if data[value.start] == b'[' => {
                    for detail in skim::elements(data, value) {
                        self.read_codes(key, data, detail);
                    }
                }
                b"details" | b"innererror" | b"metadata" => self.read_codes(key, data, value),
                _ => {}
            }
        }
    }

    fn read_members(
        &mut self,
        place: ErrorMessageField,
        parent: &[u8],
        data: &'a [u8],
        object: Range<usize>,
    ) {
        self.read_codes(parent, data, object.clone());
        for (key, value) in skim::members(data, object) {
            if MESSAGES.contains(&key) {
                self.read_message(place, data, value);
            }
        }
    }

    fn read_codes(&mut self, parent: &[u8], data: &'a [u8], object: Range<usize>) {
        for (key, value) in skim::members(data, object) {
            let Some(code) = scalar(data, value) else {
                continue;
            };
            if STATUSES.contains(&key) && self.status.is_none() {
                let status = code.parse().ok();
                self.status = status.filter(|status| (400..=599).contains(status));
            }
            if CODES.contains(&key) {
                self.add_code(qualified_code(parent, key, code));
            }
        }
    }

    fn read_message(&mut self, place: ErrorMessageField, data: &'a [u8], value: Range<usize>) {
        let plain = skim::plain_string(data, value.clone());
        // A single word in the place of a message is a code.
        if let Some(word) = plain
            && place == ErrorMessageField::ErrorText
            && !word.contains(char::is_whitespace)
        {
            self.add_code(Cow::Borrowed(word));
        }
        let text = match plain {
            Some(text) => Some(Cow::Borrowed(text)),
            None => serde_json::from_slice(&data[value]).ok().map(Cow::Owned),
        };
        if let Some(text) = text
            && self.messages.len() < MESSAGES_MAX
        {
            self.messages.push((place, bounded(text)));
        }
    }

    fn add_code(&mut self, code: Cow<'a, str>) {
        if code.len() <= CODE_BYTES_MAX && self.codes.len() < CODES_MAX {
            self.codes.push(code);
        }
    }
}

impl ErrorMessageField {
    const ALL: [Self; 4] = [
        Self::ErrorMessage,
        Self::ErrorText,
        Self::Message,
        Self::Detail,
    ];

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::ErrorMessage => "error.message",
            Self::ErrorText => "error",
            Self::Message => "message",
            Self::Detail => "detail",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }
}

/// The beginning of a message that is too long to be compared as a whole.
fn bounded(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= MESSAGE_BYTES_MAX {
        return text;
    }
    let end = text.floor_char_boundary(MESSAGE_BYTES_MAX);
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    }
}

/// A code without its namespace. A number of a provider's own has the name of its place, as numbers mean something else
/// at each provider.
fn qualified_code<'a>(parent: &[u8], key: &[u8], code: &'a str) -> Cow<'a, str> {
    let place = match (parent, key) {
        (b"base_resp", _) => "base_resp ",
        (b"", b"error_code") => "error_code ",
        _ => return Cow::Borrowed(code.rsplit('#').next().unwrap_or(code)),
    };
    match code.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Cow::Owned(format!("{place}{code}")),
        false => Cow::Borrowed(code),
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
