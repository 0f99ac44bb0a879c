//! Whether a body under a success status is a success of its protocol.
//!
//! A status of 200 proves nothing: gateways of providers, and the providers of aggregators, send errors with it. A
//! body is a failure only if it lacks every member that makes a success of its protocol, and has a sign of a failure:
//! what the gateway does not know passes.

mod failure_sign;

#[cfg(test)]
mod tests;

use super::json::skim;
use super::sse::may_become_event_stream;
use failure_sign::has_failure_sign;
pub use failure_sign::reported_status;
use memchr::memmem::Finder;
use std::sync::LazyLock;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What a body under a success status is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseVerdict {
    /// A success of the protocol, or an object that has no sign of a failure.
    Success,
    /// An object that reports an error in place of a result.
    Failure,
    /// No complete JSON object: nothing, text, another JSON value, or an object that is cut off.
    Unreadable,
}

/// What a success of a protocol has.
#[derive(Clone, Copy, Debug)]
pub struct SuccessShape {
    /// Finds the name, with its quotes, of the list that makes a success; `None` if no list does.
    pub list: Option<&'static LazyLock<Finder<'static>>>,
    /// The members that decide: name, value, and meaning. The first row that fits counts.
    pub members: &'static [(&'static str, MemberValue, MemberMeaning)],
}

/// The start of a member's value.
#[derive(Clone, Copy, Debug)]
pub enum MemberValue {
    /// A list with an element.
    List,
    Object,
    /// A text that is not empty.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
}

/// What a member says about the whole body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberMeaning {
    /// The body is a success, whatever else it has.
    Success,
    /// The body is a failure, whatever else it has.
    Failure,
    /// A result, which outweighs signs of a failure.
    Result,
    Neutral,
}

/// Whether a response to this request is a result that the verdict is about. Requests that look something up, count, or
/// cancel are not: their responses may report a failure as their result.
pub fn is_examined(is_post: bool, path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path).as_bytes();
    let last = path.iter().rposition(|byte| *byte == b'/');
    let last = &path[last.map_or(0, |slash| slash + 1)..];
    is_post
        && !last.ends_with(b":countTokens")
        && !matches!(
            last,
            b"cancel"
                | b"count_tokens"
                | b"count-tokens"
                | b"input_tokens"
                | b"compact"
                | b"transcriptions"
                | b"translations"
        )
}

/// Whether a complete body is no JSON object.
pub fn is_unreadable(body: &[u8]) -> bool {
    ANY_OBJECT.judge(body) == ResponseVerdict::Unreadable
}

/// Whether a complete body, of no protocol, reports an error.
pub fn is_failure(body: &[u8]) -> bool {
    ANY_OBJECT.judge(body) == ResponseVerdict::Failure
}

/// Objects of which no member makes a success.
static ANY_OBJECT: SuccessShape = SuccessShape {
    list: None,
    members: &[],
};

/// Whether an object of which only the `start` has arrived begins as errors do, and not as successes.
pub fn begins_like_failure(start: &[u8]) -> bool {
    const FIRST: [&[u8]; 5] = [b"error", b"errors", b"code", b"error_code", b"base_resp"];
    let key = skim::member_walk(without_margins(start)).next_key();
    key.is_some_and(|key| FIRST.contains(&key))
}

/// Whether a body begins like a JSON object. Plain text and samples of sound may begin with a brace, too.
pub fn begins_like_object(start: &[u8]) -> bool {
    let (first, second) = first_two(start);
    first == Some(b'{') && second.is_none_or(|byte| matches!(byte, b'"' | b'}'))
}

/// Whether a body is blank, or begins like JSON or a page, and not like sound.
pub fn begins_like_text(start: &[u8]) -> bool {
    let (first, second) = first_two(start);
    match first {
        None => true,
        Some(b'[') => second.is_none_or(|byte| matches!(byte, b'{' | b'[' | b']' | b'"')),
        Some(b'<') => {
            second.is_none_or(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'!' | b'?'))
        }
        Some(_) => begins_like_object(start),
    }
}

/// Whether a response is being generated in the background.
pub fn is_pending(body: &[u8]) -> bool {
    let status = skim::find(body, &["status"]);
    status.is_some_and(|status| matches!(&body[status], b"\"queued\"" | b"\"in_progress\""))
}

/// Walks to the first member that decides; `None` if the object does not end. Only an object without a result is walked
/// again, for signs of a failure.
fn judge_members(shape: &SuccessShape, json: &[u8]) -> Option<ResponseVerdict> {
    let mut walk = skim::member_walk(json);
    let mut has_result = false;
    while let Some(key) = walk.next_key() {
        match shape.meaning(key, walk.value_start()) {
            MemberMeaning::Success => return Some(ResponseVerdict::Success),
            MemberMeaning::Failure => return Some(ResponseVerdict::Failure),
            MemberMeaning::Result => has_result = true,
            MemberMeaning::Neutral => {}
        }
        walk.skip_value()?;
    }
    walk.is_closed().then(|| match has_result {
        false if has_failure_sign(json) => ResponseVerdict::Failure,
        _ => ResponseVerdict::Success,
    })
}

impl SuccessShape {
    /// The verdict about a complete body.
    pub fn judge(&self, body: &[u8]) -> ResponseVerdict {
        let body = without_margins(body);
        if !(body.starts_with(b"{") && body.ends_with(b"}")) {
            return ResponseVerdict::Unreadable;
        }
        if is_plain_success(self, body) {
            return ResponseVerdict::Success;
        }
        match judge_members(self, body) {
            Some(ResponseVerdict::Success) if !is_whole(body) => ResponseVerdict::Unreadable,
            Some(verdict) => verdict,
            None => ResponseVerdict::Unreadable,
        }
    }

    /// The verdict about a body of which only the `start` has arrived; `None` if it depends on the rest. A success may still
    /// turn out to be cut off.
    pub fn judge_start(&self, start: &[u8]) -> Option<ResponseVerdict> {
        let start = without_margins(start);
        if BYTE_ORDER_MARK.starts_with(start) {
            return None;
        }
        match start.first()? {
            b'{' => judge_members(self, start),
            _ if may_become_event_stream(start) => None,
            _ => Some(ResponseVerdict::Unreadable),
        }
    }

    /// Whether an event without a name, which is not of the protocol, reports an error, or is no object. Clients do not take it
    /// for an error.
    pub fn is_failed_event(&self, data: &[u8]) -> bool {
        !data.trim_ascii_start().starts_with(b"{") || self.judge(data) == ResponseVerdict::Failure
    }

    /// What a member means whose value begins with `value`.
    fn meaning(&self, key: &[u8], value: &[u8]) -> MemberMeaning {
        let mut rows = self.members.iter();
        let row = rows.find(|(name, form, _)| name.as_bytes() == key && form.begins(value));
        row.map_or(MemberMeaning::Neutral, |(_, _, meaning)| *meaning)
    }
}

impl MemberValue {
    fn begins(self, value: &[u8]) -> bool {
        match self {
            Self::List => begins_list(value),
            Self::Object => value.starts_with(b"{"),
            Self::Text => value.starts_with(b"\"") && !value.starts_with(b"\"\""),
            Self::OneOf(words) => is_one_of(value, words),
        }
    }
}

/// Whether the list that makes a success is found by a search and by counting brackets, which most successes allow and
/// which costs less than a walk: one is open before the list, and all are closed at the end.
fn is_plain_success(shape: &SuccessShape, body: &[u8]) -> bool {
    let Some(list) = shape.list else {
        return false;
    };
    list.find(body).is_some_and(|key| {
        let (before, from_key) = body.split_at(key);
        let after_key = from_key[list.needle().len()..].trim_ascii_start();
        let value = after_key.strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        value.is_some_and(begins_list)
            && bracket_balance(before) == 1
            && bracket_balance(from_key) == -1
    })
}

fn is_one_of(value: &[u8], words: &[&str]) -> bool {
    let text = value.strip_prefix(b"\"").unwrap_or_default();
    words.iter().any(|word| {
        let rest = text.strip_prefix(word.as_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"\""))
    })
}

/// Whether a value is a list with an element.
fn begins_list(value: &[u8]) -> bool {
    let first = value.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    first.is_some_and(|first| !first.is_empty() && !first.starts_with(b"]"))
}

/// Whether an object that ends with a brace is closed.
///
/// Counting brackets is nearly free. Those in texts make the counts differ, and then the object is walked; only a body
/// that was cut after a brace, and whose texts close exactly as many brackets as the cut left open, is taken for whole.
fn is_whole(body: &[u8]) -> bool {
    bracket_balance(body) == 0 || {
        let mut walk = skim::member_walk(body);
        while walk.next_key().is_some() {
            if walk.skip_value().is_none() {
                return false;
            }
        }
        walk.is_closed()
    }
}

/// Opening brackets and braces without the closing ones. It is wrong only if one chunk leaves more than 127 of them open.
fn bracket_balance(json: &[u8]) -> isize {
    // Sums that fit in a byte are formed for sixteen bytes at once.
    const CHUNK_BYTES: usize = 1024;
    let chunks = json.chunks(CHUNK_BYTES).map(|chunk| {
        let steps = chunk.iter().map(|byte| {
            // Bit 5 is the difference between a bracket and a brace.
            let bracket = byte & !0x20;
            i8::from(bracket == b'[') - i8::from(bracket == b']')
        });
        isize::from(steps.fold(0, i8::wrapping_add))
    });
    chunks.sum()
}

/// The first two bytes that are no white space.
fn first_two(start: &[u8]) -> (Option<u8>, Option<u8>) {
    let bytes = without_margins(start).iter().copied();
    let mut bytes = bytes.filter(|byte| !byte.is_ascii_whitespace());
    (bytes.next(), bytes.next())
}

/// The body without white space around it and without a byte order mark.
fn without_margins(body: &[u8]) -> &[u8] {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    body.trim_ascii()
}
