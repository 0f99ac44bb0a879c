//! Names of header fields that were parsed before: clients and providers send the same few with each message.

use http::HeaderName;
use http::header::InvalidHeaderName;
use std::cell::RefCell;

/// Number of names in the cache of each thread; a power of two.
const NAMES: usize = 256;
/// Maximum length of a name in the cache, in bytes.
const NAME_BYTES_MAX: usize = 40;

thread_local! {
    static NAME_CACHE: RefCell<Vec<Option<CachedHeaderName>>> =
        RefCell::new((0..NAMES).map(|_| None).collect());
}

/// A name, and how it was spelled.
struct CachedHeaderName {
    spelling: [u8; NAME_BYTES_MAX],
    length: usize,
    name: HeaderName,
}

/// Parses the name of a field as it was received.
///
/// # Errors
/// It is no token (RFC 9110, section 5.6.2), or too long.
pub fn parse_field_name(spelling: &[u8]) -> Result<HeaderName, InvalidHeaderName> {
    if spelling.len() > NAME_BYTES_MAX {
        return HeaderName::from_bytes(spelling);
    }
    NAME_CACHE.with_borrow_mut(|cache| {
        let (first, second) = (place_for(spelling), place_for(spelling) ^ 1);
        for place in [first, second] {
            if let Some(cached) = &cache[place]
                && cached.spelling[..cached.length] == *spelling
            {
                return Ok(cached.name.clone());
            }
        }
        let name = HeaderName::from_bytes(spelling)?;
        let mut cached = CachedHeaderName {
            spelling: [0; NAME_BYTES_MAX],
            length: spelling.len(),
            name: name.clone(),
        };
        cached.spelling[..spelling.len()].copy_from_slice(spelling);
        let is_free = |place: usize| cache[place].is_none();
        let place = if !is_free(first) && is_free(second) {
            second
        } else {
            first
        };
        cache[place] = Some(cached);
        Ok(name)
    })
}

/// The first place of a name; the other one is its neighbour. Names that find no place replace others, which costs no more
/// than parsing.
fn place_for(spelling: &[u8]) -> usize {
    let word = match (spelling.first_chunk(), spelling.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29)
        }
        _ => spelling
            .iter()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let mixed = (word ^ spelling.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (u64::BITS - NAMES.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_however_often_it_comes_and_whatever_came_before() {
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        let names = [
            "Host",
            "host",
            "HOST",
            "te",
            "",
            "a b",
            "x-stainless-os",
            "X-Stainless-OS",
            "x_y",
            "\u{e9}",
        ];
        // More names than places, so that they replace each other.
        let many: Vec<String> = (0..4 * NAMES).map(|at| format!("x-field-{at}")).collect();
        let many = many.iter().map(String::as_str);
        for _ in 0..3 {
            for name in names.into_iter().chain([long.as_str()]).chain(many.clone()) {
                let parsed = parse_field_name(name.as_bytes()).ok();
                assert_eq!(
                    parsed,
                    HeaderName::from_bytes(name.as_bytes()).ok(),
                    "{name}"
                );
            }
        }
    }
}
