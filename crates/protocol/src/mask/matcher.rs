//! Finds secrets in text: unescaped and with any mix of JSON escapes, also in JSON inside of JSON strings.

use std::ops::Range;

use memchr::memmem::Finder;

/// Shorter secrets are not searched for, because ordinary text contains them.
pub const SECRET_BYTES_MIN: usize = 8;
/// The maximum number of backslashes that count as one escape: four levels of JSON inside of JSON strings.
const BACKSLASHES_MAX: usize = 15;
/// The longest form of one byte: the backslashes, and `u0041`.
const ESCAPE_BYTES_MAX: usize = BACKSLASHES_MAX + 5;

/// Secrets with a common prefix of at least this many bytes are searched for by the prefix.
const PREFIX_BYTES_MIN: usize = 4;

/// Up to this length, looking at each byte of a text costs less than the searches that it may spare.
const SHORT_TEXT_BYTES: usize = 64;

/// Secrets prepared for search. Built once and shared.
pub struct SecretMatcher {
    groups: Vec<PrefixGroup>,
    /// For each byte: whether a secret contains it.
    is_in_secret: [bool; 256],
    /// For each byte: whether it can follow a backslash in an escaped byte of a secret.
    may_be_escaped: [bool; 256],
    /// For each byte: whether the start of a secret, in any form, can end with it.
    may_end_a_beginning: [bool; 256],
    /// The length of the shortest secret.
    secret_bytes_min: usize,
    /// The length of the longest form of a secret.
    form_bytes_max: usize,
}

/// Secrets with a common prefix, like the keys of one provider, so that one search finds all of them.
struct PrefixGroup {
    prefix: Finder<'static>,
    secrets: Vec<SecretBytes>,
}

type SecretBytes = Box<[u8]>;

/// The result of comparing text with the forms of a secret.
enum SecretMatchResult {
    /// A match, which ends at this offset.
    Match(usize),
    /// The text ends before the secret does.
    PartialMatch,
    Differs,
}

impl SecretMatcher {
    /// A matcher for `secrets`, except for those that are too short.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut secrets: Vec<&[u8]> = secrets
            .into_iter()
            .filter(|secret| secret.len() >= SECRET_BYTES_MIN)
            .collect();
        secrets.sort_unstable();
        secrets.dedup();
        let mut is_in_secret = [false; 256];
        for byte in secrets.iter().flat_map(|secret| secret.iter()) {
            is_in_secret[usize::from(*byte)] = true;
        }
        let mut may_be_escaped = [false; 256];
        for byte in b"/\"" {
            may_be_escaped[usize::from(*byte)] = is_in_secret[usize::from(*byte)];
        }
        for byte in b"u\\" {
            may_be_escaped[usize::from(*byte)] = true;
        }
        let mut may_end_a_beginning = is_in_secret;
        for byte in b"\\u0123456789abcdefABCDEF" {
            may_end_a_beginning[usize::from(*byte)] = true;
        }
        let longest = secrets.iter().map(|secret| secret.len()).max();
        let shortest = secrets.iter().map(|secret| secret.len()).min();
        Self {
            secret_bytes_min: shortest.unwrap_or(usize::MAX),
            form_bytes_max: longest.unwrap_or_default() * ESCAPE_BYTES_MAX,
            groups: grouped(&secrets),
            is_in_secret,
            may_be_escaped,
            may_end_a_beginning,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The length of the shortest secret.
    pub fn shortest(&self) -> usize {
        self.secret_bytes_min
    }

    fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        let secrets = self.groups.iter().flat_map(|group| &group.secrets);
        secrets.map(|secret| &**secret)
    }

    /// The ranges of secrets, in any order; ranges may overlap. For text without secrets the cost is one search per
    /// group of secrets with a common prefix, and one for backslashes.
    pub fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if text.len() <= SHORT_TEXT_BYTES && !self.may_be_in(text) {
            return found;
        }
        for group in &self.groups {
            let mut at = 0;
            while let Some(start) = group.prefix.find(&text[at..]).map(|start| at + start) {
                for secret in &group.secrets {
                    if text[start..].starts_with(secret) {
                        // Backslashes before the secret escape its first character. Left unmasked, they would escape
                        // the mask.
                        found.push(run_start(text, start)..start + secret.len());
                    }
                }
                at = start + 1;
            }
        }
        self.find_escaped(text, &mut found);
        found
    }

    /// Whether a text has a run of bytes of secrets, in any form, that is as long as the shortest secret.
    fn may_be_in(&self, text: &[u8]) -> bool {
        let mut run = 0;
        text.iter().any(|byte| {
            run = match self.may_end_a_beginning[usize::from(*byte)] {
                true => run + 1,
                false => 0,
            };
            run >= self.secret_bytes_min
        })
    }

    /// Finds secrets with at least one escape; the part of the secret before its first escape is compared as it is.
    fn find_escaped(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        let mut done = 0;
        for at in memchr::memchr_iter(b'\\', text) {
            let next = text.get(at + 1).copied().unwrap_or_default();
            if at < done || !self.may_be_escaped[usize::from(next)] {
                continue;
            }
            done = at + run_length(&text[at..]);
            // Two backslashes may be a backslash of the secret.
            let doubled = (done - at >= 2).then_some((b'\\', at + 2));
            for (byte, end) in escaped(text, at, done).into_iter().chain(doubled) {
                if self.is_in_secret[usize::from(byte)] {
                    for secret in self.secrets() {
                        found.extend(around(text, at..end, byte, secret));
                    }
                }
            }
        }
    }

    /// The offset of the start of a secret, in any form, that the text ends with; the text's length if there is none.
    pub fn partial_match_start(&self, text: &[u8]) -> usize {
        let window = text.len() - text.len().min(self.form_bytes_max);
        let may_begin = text[window..]
            .iter()
            .rposition(|byte| !self.may_end_a_beginning[usize::from(*byte)])
            .map_or(window, |at| window + at + 1);
        let begins = |start: &usize| {
            let mut secrets = self.secrets();
            secrets.any(|secret| {
                matches!(
                    compare(text, *start, secret),
                    SecretMatchResult::PartialMatch
                )
            })
        };
        (may_begin..text.len())
            .find(begins)
            .map_or(text.len(), |start| run_start(text, start))
    }
}

/// Groups sorted secrets by their prefixes.
fn grouped(secrets: &[&[u8]]) -> Vec<PrefixGroup> {
    let mut groups: Vec<(&[u8], Vec<SecretBytes>)> = Vec::new();
    for secret in secrets {
        let common = groups.last().map_or(0, |(prefix, _)| {
            let pairs = prefix.iter().zip(*secret);
            pairs.take_while(|(one, other)| one == other).count()
        });
        match groups.last_mut() {
            Some((prefix, members)) if common >= PREFIX_BYTES_MIN => {
                *prefix = &prefix[..common];
                members.push((*secret).into());
            }
            _ => groups.push((secret, vec![(*secret).into()])),
        }
    }
    let groups = groups.into_iter().map(|(prefix, secrets)| PrefixGroup {
        prefix: Finder::new(prefix).into_owned(),
        secrets,
    });
    groups.collect()
}

/// The matches of a secret around the escape of `byte`, with no escape before it.
fn around<'t>(
    text: &'t [u8],
    escape: Range<usize>,
    byte: u8,
    secret: &'t [u8],
) -> impl Iterator<Item = Range<usize>> + 't {
    memchr::memchr_iter(byte, secret).filter_map(move |place| {
        let before = &secret[..place];
        if !text[..escape.start].ends_with(before) {
            return None;
        }
        match compare(text, escape.end, &secret[place + 1..]) {
            SecretMatchResult::Match(end) => Some(run_start(text, escape.start - place)..end),
            SecretMatchResult::PartialMatch | SecretMatchResult::Differs => None,
        }
    })
}

/// Compares the text from `at` with `secret`, of which each byte may be escaped.
fn compare(text: &[u8], mut at: usize, secret: &[u8]) -> SecretMatchResult {
    for &wanted in secret {
        let Some(&byte) = text.get(at) else {
            return SecretMatchResult::PartialMatch;
        };
        if byte != b'\\' {
            if byte != wanted {
                return SecretMatchResult::Differs;
            }
            at += 1;
            continue;
        }
        let run_end = at + run_length(&text[at..]);
        match escaped(text, at, run_end) {
            Some((byte, end)) if byte == wanted => at = end,
            // A backslash of the secret, single or doubled.
            _ if wanted == b'\\' => at += (run_end - at).min(2),
            None if may_go_on(text, at, run_end) => return SecretMatchResult::PartialMatch,
            _ => return SecretMatchResult::Differs,
        }
    }
    SecretMatchResult::Match(at)
}

/// The ASCII character that the backslashes of `at..run_end` escape, and the end of its escape.
fn escaped(text: &[u8], at: usize, run_end: usize) -> Option<(u8, usize)> {
    if run_end - at > BACKSLASHES_MAX {
        return None;
    }
    match *text.get(run_end)? {
        byte @ (b'/' | b'"') => Some((byte, run_end + 1)),
        b'u' => {
            let hex = text.get(run_end + 1..run_end + 5)?;
            let digits = hex.strip_prefix(b"00")?;
            let digit = |at: usize| char::from(digits[at]).to_digit(16);
            let byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
            byte.is_ascii().then_some((byte, run_end + 5))
        }
        _ => None,
    }
}

/// Whether the text ends within what may become an escape.
fn may_go_on(text: &[u8], at: usize, run_end: usize) -> bool {
    if run_end - at > BACKSLASHES_MAX {
        return false;
    }
    match text[run_end..].split_first() {
        None => true,
        Some((b'u', digits)) => {
            digits.len() < 4
                && b"00".iter().zip(digits).all(|(zero, digit)| zero == digit)
                && digits.iter().all(u8::is_ascii_hexdigit)
        }
        Some(_) => false,
    }
}

/// The number of backslashes at the start of the text.
fn run_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b'\\').count()
}

/// The start of the run of backslashes that ends at `at`.
fn run_start(text: &[u8], at: usize) -> usize {
    let backslashes = text[..at].iter().rev().take_while(|byte| **byte == b'\\');
    at - backslashes.count()
}

impl std::fmt::Debug for SecretMatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secrets]")
    }
}
