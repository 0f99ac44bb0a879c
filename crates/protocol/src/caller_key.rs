//! Finds the caller's key where it does not belong, so that it is sent to nobody.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use memchr::memmem::Finder;

use super::credential_names::decoded;
use super::json::escapes::decoded_escapes;
use super::json::quoted;
use super::secret_shape::MASK;

/// How often escapes are decoded in the search for the key: JSON may be in a string of JSON.
const ESCAPE_LEVELS: usize = 3;

/// The header in which SDKs of Azure OpenAI send the key.
pub const API_KEY: HeaderName = HeaderName::from_static("api-key");
/// The header in which SDKs of Anthropic send the key.
pub const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
/// The header in which SDKs of Google send the key.
pub const X_GOOG_API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");

/// The caller's key, from each header that may carry it.
pub struct CallerKeyToStrip<'h>([Option<&'h [u8]>; 4]);

impl<'h> CallerKeyToStrip<'h> {
    /// Minimum length of a key in bytes: a shorter one could match the end of any value.
    const BYTES_MIN: usize = 6;

    pub fn from_headers(from_caller: &'h HeaderMap) -> Self {
        let bytes = |name: &HeaderName| from_caller.get(name).map(HeaderValue::as_bytes);
        let bearer = bytes(&header::AUTHORIZATION).map(|value| {
            let scheme_ends = value.iter().position(|byte| *byte == b' ').unwrap_or(0);
            value[scheme_ends..].trim_ascii()
        });
        let keys = [
            bearer,
            bytes(&X_API_KEY),
            bytes(&API_KEY),
            bytes(&X_GOOG_API_KEY),
        ];
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

    /// JSON text with a mask in each place of the key in a string or a name, also where the key is written with escapes.
    pub fn masked_json(&self, json: Vec<u8>) -> Vec<u8> {
        if self.0.iter().all(Option::is_none) || memchr::memchr(b'\\', &json).is_none() {
            return self.masked(json);
        }
        let mut masked = Vec::with_capacity(json.len());
        let mut rest = &*json;
        while let Some(start) = memchr::memchr(b'"', rest) {
            masked.extend_from_slice(&rest[..start]);
            let (string, after) = rest[start..].split_at(string_length(&rest[start..]));
            match self.masked_string(string) {
                Some(text) => masked.extend_from_slice(&quoted(&text)),
                None => masked.extend_from_slice(string),
            }
            rest = after;
        }
        masked.extend_from_slice(rest);
        masked
    }

    /// The masked text of a JSON string; `None` if it does not have the key.
    fn masked_string(&self, string: &[u8]) -> Option<String> {
        let mut text: String = serde_json::from_slice(string).ok()?;
        let mut found = None;
        for _ in 0..ESCAPE_LEVELS {
            let masked = self.masked(text.clone().into_bytes());
            if masked != text.as_bytes() {
                text = String::from_utf8_lossy(&masked).into_owned();
                found = Some(text.clone());
            }
            if !text.contains('\\') {
                break;
            }
            text = decoded_escapes(&text);
        }
        found
    }

    /// Whether a query parameter holds the key, plain or percent-encoded.
    pub fn is_encoded_in(&self, member: &str) -> bool {
        self.is_in(member.as_bytes())
            || member.contains('%') && self.is_in(&decoded(member.as_bytes()).collect::<Vec<_>>())
    }
}

/// The length of the JSON string at the start of `json`, with its quotes.
fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(rest) = json.get(at..)
        && let Some(next) = memchr::memchr2(b'"', b'\\', rest)
    {
        at += next;
        match json[at] {
            b'"' => return at + 1,
            _ => at += 2,
        }
    }
    json.len()
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
        let key = CallerKeyToStrip::from_headers(&headers);
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

    #[test]
    fn the_key_is_masked_in_json_however_it_is_written() {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static("sk-a\"b/ller"));
        let key = CallerKeyToStrip::from_headers(&headers);
        for (json, masked) in [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (r#"["sk-a\"b/ller", "\u0041"]"#, r#"["[secret]", "\u0041"]"#),
            (
                r#"{"x sk-\u0061\u0022b\/ll\u0065r":"\n sk-\u0061\"b/ller."}"#,
                r#"{"x [secret]":"\n [secret]."}"#,
            ),
            // JSON in a string is shown decoded where it has the key.
            (
                r#"["{\"b\":\"sk-\\u0061\\\"b/ller\"}"]"#,
                r#"["{\"b\":\"[secret]\"}"]"#,
            ),
            (
                r#"["sk-a\"b/lle", "\u00e9"]"#,
                r#"["sk-a\"b/lle", "\u00e9"]"#,
            ),
        ] {
            let json = key.masked_json(json.into());
            assert_eq!(String::from_utf8(json).unwrap(), masked);
        }
    }
}
