//! The secrets of a channel, searched for in the bodies and headers of its responses.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::matcher::{SECRET_BYTES_MIN, SecretMatcher};
use crate::percent_encoding::decoded_bytes;

/// How many levels of percent-encoding in a header value are decoded.
const PERCENT_READINGS: usize = 3;

/// The secrets that a channel sends to its provider, prepared for a search in its responses.
///
/// Built once per snapshot.
#[derive(Debug)]
pub struct ChannelSecrets {
    plain: SecretMatcher,
    /// The secrets in base64, for headers, at each of the three alignments.
    base64: SecretMatcher,
    shortest_form: usize,
}

impl ChannelSecrets {
    /// The secrets in header values, each with or without a scheme before its token.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let secrets: Vec<Vec<u8>> = values.into_iter().flat_map(secrets_in_value).collect();
        let plain = SecretMatcher::new(secrets.iter().map(Vec::as_slice));
        let encoded: Vec<String> = secrets
            .iter()
            .filter(|secret| secret.len() >= SECRET_BYTES_MIN)
            .flat_map(|secret| in_base64(secret))
            .collect();
        let base64 = SecretMatcher::new(encoded.iter().map(String::as_bytes));
        Self {
            shortest_form: plain.shortest().min(base64.shortest()),
            plain,
            base64,
        }
    }

    /// Whether there is no secret that can be searched for.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// The ranges of secrets in a body, in any order; ranges may overlap.
    pub fn find(&self, body: &[u8]) -> Vec<Range<usize>> {
        self.plain.find(body)
    }

    /// The offset of the start of a secret at the end of a piece of a body; the piece's length if there is none.
    pub fn partial_match_start(&self, piece: &[u8]) -> usize {
        self.plain.partial_match_start(piece)
    }

    /// Whether a header value contains a secret, as it is, percent-encoded or in base64.
    pub fn is_in_header(&self, value: &[u8]) -> bool {
        if value.len() < self.shortest_form {
            return false;
        }
        let mut value = Cow::Borrowed(value);
        for _ in 0..=PERCENT_READINGS {
            if !self.plain.find(&value).is_empty() || !self.base64.find(&value).is_empty() {
                return true;
            }
            if !value.contains(&b'%') {
                return false;
            }
            value = Cow::Owned(decoded_bytes(&value));
        }
        false
    }
}

/// The secrets in a header value: its token without the scheme, or the whole value if the token is too short.
fn secrets_in_value(value: &str) -> Vec<Vec<u8>> {
    let value = value.trim();
    let Some((scheme, token)) = value.split_once([' ', '\t']) else {
        return vec![value.into()];
    };
    let token = token.trim();
    if token.len() < SECRET_BYTES_MIN {
        return vec![value.into()];
    }
    let mut secrets = vec![Vec::from(token)];
    // `Token token="…", id=…`: a provider repeats the text in the quotes.
    secrets.extend(token.split([',', ';']).filter_map(|parameter| {
        let (_, value) = parameter.trim().split_once('=')?;
        Some(value.trim().trim_matches('"').into())
    }));
    // `Basic …`: a provider decodes the credentials.
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(login) = STANDARD
            .decode(token)
            .or_else(|_| STANDARD_NO_PAD.decode(token))
    {
        let password = login.splitn(2, |byte| *byte == b':').nth(1);
        secrets.extend(password.map(Vec::from));
        secrets.push(login);
    }
    secrets
}

/// The part of a secret's base64 that depends only on the secret, for each of the three alignments and both alphabets.
fn in_base64(secret: &[u8]) -> impl Iterator<Item = String> {
    [STANDARD_NO_PAD, URL_SAFE_NO_PAD]
        .into_iter()
        .flat_map(move |engine| {
            (0..3).map(move |before| {
                let encoded = engine.encode([&[0; 2][..before], secret].concat());
                let first = (before * 8).div_ceil(6);
                let last = (before + secret.len()) * 8 / 6;
                encoded[first..last].to_owned()
            })
        })
}
