//! The W3C trace context of a request: `traceparent` and `tracestate`.
//!
//! An invalid `traceparent` counts as none, and its `tracestate` is dropped with it. An invalid `tracestate` is dropped
//! alone. Neither is ever an error for the caller.

use super::ids::{SpanId, TraceId};
use headgate_protocol::hex::write_digits;
use http::{HeaderMap, HeaderName, HeaderValue};

pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Length of a `traceparent` of version 00.
const LENGTH: usize = 55;
/// The version that W3C declares invalid.
const INVALID_VERSION: u8 = 0xff;
/// Maximum number of members of a `tracestate`.
const MEMBERS_MAX: usize = 32;
/// Maximum length of the `tracestate` that is passed on, in bytes: the least that W3C asks for.
const STATE_BYTES_MAX: usize = 512;
/// If a `tracestate` is too long, members above this many bytes are dropped first.
const MEMBER_BYTES_MAX: usize = 128;
/// Maximum length of a key and of a value in a `tracestate`, in bytes.
const KEY_BYTES_MAX: usize = 256;

const SAMPLED: u8 = 1;
/// The trace id is random (W3C trace context, level 2).
const RANDOM: u8 = 2;

/// What the headers of a request state about its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerTraceContext {
    pub trace_id: TraceId,
    /// The span that sent the request.
    pub span_id: SpanId,
    pub flags: TraceFlags,
    /// The members that are passed on.
    pub state: Option<HeaderValue>,
}

/// The flags of a trace that are passed on; all others are cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFlags(u8);

impl CallerTraceContext {
    /// The trace context in the headers of a request; `None` if there is none, or if it is invalid.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let value = values.next()?;
        // Two headers name two traces.
        if values.next().is_some() {
            return None;
        }
        let (trace_id, span_id, flags) = parse(value.as_bytes())?;
        Some(Self {
            trace_id,
            span_id,
            flags,
            state: trace_state(headers),
        })
    }
}

impl TraceFlags {
    /// Of a new trace, whose id is random.
    pub fn for_new_trace() -> Self {
        Self(RANDOM)
    }

    pub fn is_sampled(self) -> bool {
        self.0 & SAMPLED != 0
    }

    pub fn with_sampled(self, is_sampled: bool) -> Self {
        match is_sampled {
            true => Self(self.0 | SAMPLED),
            false => Self(self.0 & !SAMPLED),
        }
    }

    pub fn bits(self) -> u8 {
        self.0
    }
}

/// A `traceparent` of version 00.
pub(super) fn traceparent(trace: TraceId, span: SpanId, flags: TraceFlags) -> HeaderValue {
    let mut text = [b'-'; LENGTH];
    text[..2].copy_from_slice(b"00");
    write_digits(trace.bytes(), &mut text[3..35]);
    write_digits(span.bytes(), &mut text[36..52]);
    write_digits(&[flags.0], &mut text[53..]);
    HeaderValue::from_bytes(&text).expect("hex digits and hyphens")
}

/// Parses a `traceparent`. Of versions above 00, only what version 00 has is read.
fn parse(value: &[u8]) -> Option<(TraceId, SpanId, TraceFlags)> {
    let value = value.trim_ascii();
    let (head, rest) = value.split_at_checked(LENGTH)?;
    let [version] = read_hex::<1>(&head[..2])?;
    let is_separated = [2, 35, 52].iter().all(|at| head[*at] == b'-');
    let is_followed = match version {
        0 => !rest.is_empty(),
        INVALID_VERSION => return None,
        _ => rest.first().is_some_and(|byte| *byte != b'-'),
    };
    if !is_separated || is_followed {
        return None;
    }
    let trace = TraceId::new(read_hex(&head[3..35])?)?;
    let span = SpanId::new(read_hex(&head[36..52])?)?;
    let [flags] = read_hex(&head[53..])?;
    let known = match version {
        0 => SAMPLED | RANDOM,
        _ => SAMPLED,
    };
    Some((trace, span, TraceFlags(flags & known)))
}

/// All `tracestate` headers as one, shortened if it is too long; `None` without a valid member.
fn trace_state(headers: &HeaderMap) -> Option<HeaderValue> {
    let mut members = Vec::new();
    for value in headers.get_all(TRACESTATE) {
        for member in value.to_str().ok()?.split(',') {
            let member = member.trim_matches([' ', '\t']);
            if member.is_empty() {
                continue;
            }
            let key = member_key(member)?;
            let is_repeated = members.iter().any(|(known, _)| *known == key);
            if is_repeated || members.len() == MEMBERS_MAX {
                return None;
            }
            members.push((key, member));
        }
    }
    let length = |members: &[(&str, &str)]| {
        let bytes: usize = members.iter().map(|(_, member)| member.len() + 1).sum();
        bytes.saturating_sub(1)
    };
    if length(&members) > STATE_BYTES_MAX {
        members.retain(|(_, member)| member.len() <= MEMBER_BYTES_MAX);
    }
    while length(&members) > STATE_BYTES_MAX {
        members.pop();
    }
    let texts: Vec<&str> = members.into_iter().map(|(_, member)| member).collect();
    match texts.is_empty() {
        true => None,
        false => HeaderValue::from_str(&texts.join(",")).ok(),
    }
}

/// The key of a valid member of a `tracestate`.
fn member_key(member: &str) -> Option<&str> {
    let (key, value) = member.split_once('=')?;
    let first = key.bytes().next()?;
    let is_key = key.len() <= KEY_BYTES_MAX
        && (first.is_ascii_lowercase() || first.is_ascii_digit())
        && key.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte)
        });
    let is_value = (1..=KEY_BYTES_MAX).contains(&value.len())
        && value
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~') && byte != b'=');
    (is_key && is_value).then_some(key)
}

/// Lower case only, as W3C demands.
fn read_hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (byte, digits) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(digits[0])? << 4 | digit(digits[1])?;
    }
    Some(bytes)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
