//! The binary layout of a task id's fields: a version, two numbers, six texts with their lengths, and in later versions two or three more.

use super::TaskId;
use crate::requested_format::RequestedVideoFormat;

/// The first byte. A new layout gets a new number, and ids with the old one can still be opened.
const VERSION: u8 = 1;
/// The layout of tasks that were created in OpenAI's format, with what their create asked for.
const VERSION_WITH_FORMAT: u8 = 2;
/// That layout, with the URL at which the provider says that the status is queried.
const VERSION_WITH_URL: u8 = 3;

/// The number of value bits in a byte of a variable-length number; the highest bit says that more bytes follow.
const BITS: u32 = 7;

pub(super) fn encode(task: &TaskId) -> Vec<u8> {
    let TaskId {
        caller,
        channel,
        credential,
        model,
        created,
        ratio,
        upstream,
        family,
        requested,
        query_url,
    } = task;
    let RequestedVideoFormat { seconds, size } = requested;
    let has_url = query_url.is_some();
    let has_format = has_url || seconds.is_some() || size.is_some();
    let mut bytes = vec![match (has_url, has_format) {
        (true, _) => VERSION_WITH_URL,
        (false, true) => VERSION_WITH_FORMAT,
        (false, false) => VERSION,
    }];
    push_number(&mut bytes, *created);
    bytes.extend(credential.to_be_bytes());
    let ratio = ratio.as_deref().unwrap_or_default();
    for text in [caller, channel, family, model, ratio, upstream] {
        push_text(&mut bytes, text);
    }
    for text in [seconds, size].into_iter().filter(|_| has_format) {
        push_text(&mut bytes, text.as_deref().unwrap_or_default());
    }
    if let Some(url) = query_url {
        push_text(&mut bytes, url);
    }
    bytes
}

/// Decodes what [`encode`] wrote; `None` for anything else.
pub(super) fn decode(bytes: &[u8]) -> Option<TaskId> {
    let (version, mut rest) = bytes.split_first()?;
    let (has_format, has_url) = match *version {
        VERSION => (false, false),
        VERSION_WITH_FORMAT => (true, false),
        VERSION_WITH_URL => (true, true),
        _ => return None,
    };
    let created = take_number(&mut rest)?;
    let (credential, after) = rest.split_first_chunk()?;
    rest = after;
    let mut text = || take_text(&mut rest);
    let (caller, channel, family) = (text()?, text()?, text()?);
    let (model, ratio, upstream) = (text()?, text()?, text()?);
    let mut requested = RequestedVideoFormat::default();
    if has_format {
        let optional = |text: String| (!text.is_empty()).then_some(text);
        requested.seconds = optional(text()?);
        requested.size = optional(text()?);
    }
    let query_url = match has_url {
        true => Some(text()?),
        false => None,
    };
    rest.is_empty().then_some(TaskId {
        caller,
        channel,
        credential: u64::from_be_bytes(*credential),
        model,
        created,
        ratio: (!ratio.is_empty()).then_some(ratio),
        upstream,
        family,
        requested,
        query_url,
    })
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_number(bytes, text.len() as u64);
    bytes.extend(text.as_bytes());
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >> BITS > 0 {
        bytes.push(number as u8 | 1 << BITS);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(BITS as usize) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & !(1 << BITS)) << shift;
        if byte >> BITS == 0 {
            return Some(number);
        }
    }
    None
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take_number(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}
