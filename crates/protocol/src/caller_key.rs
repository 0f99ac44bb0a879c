//! Finds the caller's key where it does not belong, so that it is sent to nobody.

use http::{HeaderMap, HeaderValue};
use memchr::memmem::Finder;

use super::credential_names::decoded;
use super::secret_shape::MASK;

/// The caller's key, from either header that may carry it.
pub struct CallerKeyToStrip<'h>([Option<&'h [u8]>; 2]);

impl<'h> CallerKeyToStrip<'h> {
    /// Minimum length of a key in bytes: a shorter one could match the end of any value.
    const BYTES_MIN: usize = 6;

    pub fn of(from_caller: &'h HeaderMap) -> Self {
        let bytes = |name: &str| from_caller.get(name).map(HeaderValue::as_bytes);
        let bearer = bytes("authorization").map(|value| {
            let scheme_ends = value.iter().position(|byte| *byte == b' ').unwrap_or(0);
            value[scheme_ends..].trim_ascii()
        });
        let keys = [bearer, bytes("x-api-key")];
        Self(keys.map(|key| key.filter(|key| key.len() >= Self::BYTES_MIN)))
    }

    /// Whether a value is the key, with or without a scheme before it.
    pub fn is_in(&self, value: &[u8]) -> bool {
        self.0.iter().flatten().any(|key| {
            let before = value.strip_suffix(*key);
            before.is_some_and(|before| before.last().is_none_or(|byte| b" =:".contains(byte)))
        })
    }

    /// The text with a mask in each place of the key.
    pub fn masked(&self, text: Vec<u8>) -> Vec<u8> {
        self.0.iter().flatten().fold(text, |text, key| {
            let finder = Finder::new(key);
            let mut places = finder.find_iter(&text).peekable();
            if places.peek().is_none() {
                return text;
            }
            let mut masked = Vec::with_capacity(text.len());
            let mut done = 0;
            for at in places {
                masked.extend_from_slice(&text[done..at]);
                masked.extend_from_slice(MASK.as_bytes());
                done = at + key.len();
            }
            masked.extend_from_slice(&text[done..]);
            masked
        })
    }

    /// Whether a query parameter holds the key, plain or percent-encoded.
    pub fn is_encoded_in(&self, member: &str) -> bool {
        self.is_in(member.as_bytes())
            || member.contains('%') && self.is_in(&decoded(member.as_bytes()).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_masked_wherever_it_is() {
        let mut headers = HeaderMap::new();
        headers.insert(
            "authorization",
            HeaderValue::from_static("Bearer sk-caller"),
        );
        let key = CallerKeyToStrip::of(&headers);
        for (text, masked) in [
            ("sk-caller", "[secret]"),
            (
                "a sk-caller, sk-callersk-caller.",
                "a [secret], [secret][secret].",
            ),
            ("sk-calle r", "sk-calle r"),
            ("", ""),
        ] {
            assert_eq!(key.masked(text.into()), masked.as_bytes(), "{text}");
        }
    }
}
