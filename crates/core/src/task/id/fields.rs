//! The binary layout of a task id's fields: a version, two numbers, six texts with their lengths.

use super::TaskId;

/// The first byte. A new layout gets a new number, and ids with the old one can still be opened.
const VERSION: u8 = 1;

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
    } = task;
    let mut bytes = vec![VERSION];
    push_number(&mut bytes, *created);
    bytes.extend(credential.to_be_bytes());
    let ratio = ratio.as_deref().unwrap_or_default();
    for text in [caller, channel, family, model, ratio, upstream] {
        push_number(&mut bytes, text.len() as u64);
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// Decodes what [`encode`] wrote; `None` for anything else.
pub(super) fn decode(bytes: &[u8]) -> Option<TaskId> {
    let mut rest = bytes.strip_prefix(&[VERSION])?;
    let created = take_number(&mut rest)?;
    let (credential, after) = rest.split_first_chunk()?;
    rest = after;
    let mut text = || take_text(&mut rest);
    let (caller, channel, family) = (text()?, text()?, text()?);
    let (model, ratio, upstream) = (text()?, text()?, text()?);
    rest.is_empty().then_some(TaskId {
        caller,
        channel,
        credential: u64::from_be_bytes(*credential),
        model,
        created,
        ratio: (!ratio.is_empty()).then_some(ratio),
        upstream,
        family,
    })
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
