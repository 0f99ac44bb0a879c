//! Redacts credentials in a provider's text before a caller or a log sees it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

/// Replaces a credential.
const REDACTED: &[u8] = b"[redacted]";
/// Shorter secrets are not searched for, because ordinary words contain them.
const SECRET_BYTES_MIN: usize = 8;
/// The minimum length of a key; shorter runs of characters are words.
const KEY_BYTES_MIN: usize = 16;
/// Up to this length, looking at each byte of a text costs less than a search.
const SHORT_TEXT_BYTES: usize = 64;
/// The prefix of providers' keys.
static KEY_PREFIX: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"sk-"));
/// The scheme before a token in a header.
const SCHEME: &[u8] = b"bearer ";

/// Replaces the given secrets, and everything that looks like a bearer token or a key, by `[redacted]`.
///
/// Borrows if there is nothing to replace. Secrets of less than 8 bytes are not searched for.
pub fn redact<'a>(text: &'a [u8], secrets: &[&str]) -> Cow<'a, [u8]> {
    // Every key and every token has one of these bytes in it or before it. A loop is the fastest search of short texts.
    let may_have_key = || text.iter().any(|byte| matches!(byte, b'-' | b' '));
    if secrets.is_empty() && text.len() <= SHORT_TEXT_BYTES && !may_have_key() {
        return Cow::Borrowed(text);
    }
    let mut found = Vec::new();
    for secret in secrets
        .iter()
        .filter(|secret| secret.len() >= SECRET_BYTES_MIN)
    {
        let starts = memmem::find_iter(text, secret.as_bytes());
        found.extend(starts.map(|start| start..start + secret.len()));
    }
    found.extend(keys(text));
    found.extend(bearer_tokens(text));
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable_by_key(|range| range.start);
    Cow::Owned(without(text, &found))
}

/// Runs of characters that start with a key's prefix and are long enough for a key.
fn keys(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    KEY_PREFIX
        .find_iter(text)
        // Inside of a longer word, such as "risk-averse", it is not a prefix.
        .filter(|&start| start == 0 || !is_key_byte(text[start - 1]))
        .filter_map(|start| key_at(text, start))
}

/// Tokens after a `Bearer` scheme.
fn bearer_tokens(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    // Only the space after the scheme is searched for, because the scheme's case varies.
    memchr::memchr_iter(b' ', text).filter_map(|space| {
        let start = space + 1;
        let scheme = text[..start].get(start.checked_sub(SCHEME.len())?..)?;
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return None;
        }
        key_at(text, start)
    })
}

fn key_at(text: &[u8], start: usize) -> Option<Range<usize>> {
    let length = text[start..]
        .iter()
        .take_while(|&&byte| is_key_byte(byte))
        .count();
    (length >= KEY_BYTES_MIN).then_some(start..start + length)
}

/// Characters of tokens, and the asterisks that providers print in place of the middle of a key.
fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~+/=*".contains(&byte)
}

/// The text with the ranges replaced; they are sorted and may overlap.
fn without(text: &[u8], found: &[Range<usize>]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(text.len());
    let mut done = 0;
    for range in found {
        if range.start >= done {
            clean.extend_from_slice(&text[done..range.start]);
            clean.extend_from_slice(REDACTED);
        }
        done = done.max(range.end);
    }
    clean.extend_from_slice(&text[done..]);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str, secrets: &[&str]) -> String {
        String::from_utf8(redact(text.as_bytes(), secrets).into_owned()).unwrap()
    }

    #[test]
    fn credentials_are_replaced_and_nothing_else() {
        let secrets = ["hunter2hunter2", "short", "er2hunter2xyz"];
        let table = [
            (
                "key hunter2hunter2 and hunter2hunter2",
                "key [redacted] and [redacted]",
            ),
            ("overlap hunter2hunter2xyz.", "overlap [redacted]."),
            ("a short word", "a short word"),
            (
                "Incorrect API key provided: sk-proj-abcdefghijklmnop.",
                "Incorrect API key provided: [redacted]",
            ),
            (
                "{\"key\":\"sk-ab********wxyz\"}",
                "{\"key\":\"[redacted]\"}",
            ),
            (
                "sk-short and risk-averse-investment-strategy",
                "sk-short and risk-averse-investment-strategy",
            ),
            (
                "Authorization: Bearer eyJhbGciOi.J9-_x.yz0",
                "Authorization: Bearer [redacted]",
            ),
            (
                "authorization=BEARER 0123456789abcdef,x",
                "authorization=BEARER [redacted],x",
            ),
            ("the bearer of this letter", "the bearer of this letter"),
            ("", ""),
        ];
        for (text, clean) in table {
            assert_eq!(redacted(text, &secrets), clean);
        }
    }

    #[test]
    fn clean_text_is_borrowed() {
        assert!(matches!(
            redact(b"{\"error\":\"no\"}", &["0123456789"]),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        assert_eq!(
            &*redact(b"\xff secret-secret \xfe", &["secret-secret"]),
            b"\xff [redacted] \xfe"
        );
    }
}
