//! Finds secrets in text: as they are and in any mix of JSON escapes, also of JSON within JSON.

use std::ops::Range;

use memchr::memmem::Finder;

/// Shorter secrets are not searched for: they would be found in ordinary text.
pub const SECRET_BYTES_MIN: usize = 8;
/// So many backslashes before one character are read as an escape: what JSON in JSON in JSON in JSON
/// has.
const BACKSLASHES_MAX: usize = 15;
/// The longest form of one byte: the backslashes, and `u0041`.
const ESCAPE_BYTES_MAX: usize = BACKSLASHES_MAX + 5;

/// Secrets that begin alike are searched for by their beginning, if it has so many bytes.
const PREFIX_BYTES_MIN: usize = 4;

/// Secrets, ready to be searched for. Made once, and shared by all who search.
pub struct SecretMatcher {
    groups: Vec<PrefixGroup>,
    /// For each byte: whether a secret has it.
    is_in_secret: [bool; 256],
    /// For each byte: whether it may stand for one of a secret's, behind a backslash.
    may_be_escaped: [bool; 256],
    /// For each byte: whether the beginning of a secret, in whatever form, may end with it.
    may_end_a_beginning: [bool; 256],
    /// The longest form that a secret may have.
    form_bytes_max: usize,
}

/// Secrets that begin alike, as the keys of one provider do: one search finds all of them.
struct PrefixGroup {
    prefix: Finder<'static>,
    secrets: Vec<SecretBytes>,
}

type SecretBytes = Box<[u8]>;

/// What text is, read as one form of a secret.
enum SecretComparison {
    /// It ends here.
    Match(usize),
    /// The text ends before the secret does.
    Begun,
    Differs,
}

impl SecretMatcher {
    /// Searches for `secrets`, but for those that are too short.
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
        Self {
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
        let lengths = self.secrets().map(<[u8]>::len);
        lengths.min().unwrap_or(usize::MAX)
    }

    fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        let secrets = self.groups.iter().flat_map(|group| &group.secrets);
        secrets.map(|secret| &**secret)
    }

    /// Where secrets lie, in no order; ranges may overlap. Text without any costs one search for each
    /// group of secrets that begin alike, and one for backslashes.
    pub fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for group in &self.groups {
            let mut at = 0;
            while let Some(start) = group.prefix.find(&text[at..]).map(|start| at + start) {
                for secret in &group.secrets {
                    if text[start..].starts_with(secret) {
                        // What escapes the first character would be left to escape the mask.
                        found.push(run_start(text, start)..start + secret.len());
                    }
                }
                at = start + 1;
            }
        }
        self.find_escaped(text, &mut found);
        found
    }

    /// Finds secrets with at least one escape: what stands before the first one stands as it is.
    fn find_escaped(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        let mut done = 0;
        for at in memchr::memchr_iter(b'\\', text) {
            let next = text.get(at + 1).copied().unwrap_or_default();
            if at < done || !self.may_be_escaped[usize::from(next)] {
                continue;
            }
            done = at + run_length(&text[at..]);
            // Two backslashes may be one of the secret's own.
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

    /// Where the beginning of a secret lies that the text ends with, in whatever form; the text's
    /// length where there is none.
    pub fn partial_match_start(&self, text: &[u8]) -> usize {
        let window = text.len() - text.len().min(self.form_bytes_max);
        let may_begin = text[window..]
            .iter()
            .rposition(|byte| !self.may_end_a_beginning[usize::from(*byte)])
            .map_or(window, |at| window + at + 1);
        let begins = |start: &usize| {
            let mut secrets = self.secrets();
            secrets.any(|secret| matches!(compare(text, *start, secret), SecretComparison::Begun))
        };
        (may_begin..text.len())
            .find(begins)
            .map_or(text.len(), |start| run_start(text, start))
    }
}

/// Puts sorted secrets together that begin alike.
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

/// The secret around the escape of `byte`, where all before it stands as it is.
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
            SecretComparison::Match(end) => Some(run_start(text, escape.start - place)..end),
            SecretComparison::Begun | SecretComparison::Differs => None,
        }
    })
}

/// Reads the text from `at` as `secret`, whose bytes may each be escaped.
fn compare(text: &[u8], mut at: usize, secret: &[u8]) -> SecretComparison {
    for &wanted in secret {
        let Some(&byte) = text.get(at) else {
            return SecretComparison::Begun;
        };
        if byte != b'\\' {
            if byte != wanted {
                return SecretComparison::Differs;
            }
            at += 1;
            continue;
        }
        let run_end = at + run_length(&text[at..]);
        match escaped(text, at, run_end) {
            Some((byte, end)) if byte == wanted => at = end,
            // A backslash of the secret's own, as it is or doubled.
            _ if wanted == b'\\' => at += (run_end - at).min(2),
            None if may_go_on(text, at, run_end) => return SecretComparison::Begun,
            _ => return SecretComparison::Differs,
        }
    }
    SecretComparison::Match(at)
}

/// The ASCII character that the backslashes of `at..run_end` escape, and where its escape ends.
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

/// How many backslashes the text begins with.
fn run_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| **byte == b'\\').count()
}

/// Where the backslashes begin that end before `at`.
fn run_start(text: &[u8], at: usize) -> usize {
    let backslashes = text[..at].iter().rev().take_while(|byte| **byte == b'\\');
    at - backslashes.count()
}

impl std::fmt::Debug for SecretMatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[secrets]")
    }
}
