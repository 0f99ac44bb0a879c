//! Finds text that looks like a secret: providers' keys, tokens, credentials in URLs, private keys.
//!
//! Each rule takes one pass over the text, so the time is linear in its size.

use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Replaces a secret in a text.
pub const MASK: &str = "[secret]";

/// The minimum length of a random run; shorter runs of letters and digits are words.
const RANDOM_CHARS_MIN: usize = 16;

/// Prefixes of the keys of well-known issuers. JSON Web Tokens begin with `eyJ`.
static ISSUED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:\b|_)(?:(?i:sk)[-_][A-Za-z0-9_.~+/=%-]{4,}|(?:ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox[abeprs]-|xapp-|hf_|r8_|gsk_|xai-|npm_|pypi-|dop_v1_|shpat_|rk_live_|pk_live_|SG\.|ya29\.|AIza|eyJ)[A-Za-z0-9_.~+/=%-]{8,}|A[KS]IA[A-Z0-9]{8,})",
    )
});
/// A credential after the name of its scheme.
static SCHEMED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)\b(?:bearer|basic)[ \t]+([A-Za-z0-9_.~+/=%:-]{4,})"));
/// `password=…`, `"api_key": "…"`, `x-auth-token: …`.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)(?:(?:api[-_]?key|secret|token|passw(?:or)?d|passphrase|pwd|credential|authorization|signature)["']?[ \t]*[=:]|(?:\b|_)(?:key|sig)=)[ \t]*["']?([^\s"'`,;&{}\[\]()$<…|>][^\s"'`,;&{}\[\]()]{2,})"#,
    )
});
/// `?name=value` and `&name=value`.
static QUERY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"[?&#;]([A-Za-z0-9_.%-]{1,64})=([^\s&#"'`,;(){}\[\]$]+)"#));
/// `user:password@host` without a scheme.
static ACCOUNT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"([^\s/:@"'`,<>{}\[\]()]{1,64}:[^\s/:@"'`,<>{}\[\]()]{1,256})@[A-Za-z0-9\[]"#)
});
/// A value of a query that is not a secret: a number, a date, a word.
static TAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:[a-z]{1,12}|[0-9.-]{1,12})$"));
static UUID: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
});
static PRIVATE_KEY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----"));

/// The ranges of a text that look like secrets, in any order; they may overlap.
pub fn in_text(text: &str) -> Vec<Range<usize>> {
    let mut secrets: Vec<Range<usize>> =
        ISSUED.find_iter(text).map(|found| found.range()).collect();
    secrets.extend(UUID.find_iter(text).map(|found| found.range()));
    for found in SCHEMED.captures_iter(text) {
        let token = found.get(1).expect("the group is not optional");
        let is_word = token.as_str().bytes().all(|byte| byte.is_ascii_lowercase());
        if !is_word || token.len() >= 12 {
            secrets.push(token.range());
        }
    }
    for found in ASSIGNED.captures_iter(text) {
        // `Authorization: Bearer …`: the scheme is not a secret, and the token after it has its own rule.
        let is_scheme = |value: &str| ["bearer", "basic"].contains(&&*value.to_ascii_lowercase());
        let value = found.get(1).filter(|value| !is_scheme(value.as_str()));
        secrets.extend(value.map(|value| value.range()));
    }
    for found in QUERY.captures_iter(text) {
        let value = found.get(2).expect("the group is not optional");
        if is_secret_name(&found[1]) || !TAME.is_match(value.as_str()) {
            secrets.push(value.range());
        }
    }
    // The pattern takes most of a megabyte when it is compiled, and few texts need it.
    if text.contains('@') {
        let accounts = ACCOUNT.captures_iter(text);
        secrets.extend(accounts.filter_map(|found| Some(found.get(1)?.range())));
    }
    secrets.extend(user_infos(text));
    secrets.extend(private_keys(text));
    random_runs(text, &mut secrets);
    secrets
}

/// Whether any part of the text looks like a secret.
pub fn is_in(text: &str) -> bool {
    !in_text(text).is_empty()
}

/// The text with everything masked that looks like a secret.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut secrets = in_text(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    secrets.sort_by_key(|range| range.start);
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for range in secrets {
        if range.start >= done {
            masked.push_str(&text[done..range.start]);
            masked.push_str(MASK);
        }
        done = done.max(range.end);
    }
    masked.push_str(&text[done..]);
    Cow::Owned(masked)
}

/// Whether the name of a header, a parameter or a key indicates a secret value.
pub fn is_secret_name(name: &str) -> bool {
    const WHOLE: [&str; 5] = ["key", "pass", "sig", "auth", "code"];
    const ENDS: [&str; 16] = [
        "credentials",
        "credential",
        "api-key",
        "apikey",
        "-key",
        "_key",
        "task_keys",
        "token",
        "secret",
        "secrets",
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "authorization",
        "cookie",
    ];
    let name = name.to_ascii_lowercase();
    WHOLE.contains(&&*name) || ENDS.iter().any(|end| name.ends_with(end))
}

/// The ranges of `user:password` in URLs.
fn user_infos(text: &str) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    let mut done = 0;
    for (at, scheme) in text.match_indices("://") {
        let start = at + scheme.len();
        if start < done {
            continue;
        }
        let rest = &text[start..];
        let end = rest.find(|c: char| c.is_whitespace() || "\"'`,<>".contains(c));
        let url = &rest[..end.unwrap_or(rest.len())];
        done = start + url.len();
        let authority = url.find(['/', '?', '#']).unwrap_or(url.len());
        // If a password contains a slash, the authority ends early for a strict parser.
        let length = url[..authority].rfind('@').or_else(|| {
            let length = url.rfind('@')?;
            url[..length].contains(':').then_some(length)
        });
        secrets.extend(length.map(|length| start..start + length));
    }
    secrets
}

/// The content of private keys in PEM, to their last line or to the end of the text.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    let mut done = 0;
    for found in PRIVATE_KEY.find_iter(text) {
        if found.start() < done {
            continue;
        }
        let length = text[found.end()..].find("-----END");
        done = length.map_or(text.len(), |length| found.end() + length);
        secrets.push(found.end()..done);
    }
    secrets
}

/// Finds random runs of characters: with changes between letters and digits, or between upper and lower case.
fn random_runs(text: &str, secrets: &mut Vec<Range<usize>>) {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~%".contains(&byte);
    let is_joint = |byte: u8| b"/+=".contains(&byte);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !is_part(bytes[at]) && !is_joint(bytes[at]) {
            at += 1;
            continue;
        }
        let ends = |from: usize, is_in: &dyn Fn(u8) -> bool| {
            let length = bytes[from..].iter().position(|byte| !is_in(*byte));
            length.map_or(bytes.len(), |length| from + length)
        };
        let run_start = at;
        let run_end = ends(at, &|byte| is_part(byte) || is_joint(byte));
        let mut pieces: Vec<(Range<usize>, bool)> = Vec::new();
        while at < run_end {
            let end = ends(at, &is_part);
            if end > at {
                let is_secret = is_random(&text[at..end]) && !is_digest(text, at..end);
                pieces.push((at..end, is_secret));
            }
            at = ends(end.max(at), &is_joint).max(at + 1);
        }
        let mixed = |piece: &Range<usize>| is_mixed(&text[piece.clone()]);
        let count = pieces.iter().filter(|(piece, _)| mixed(piece)).count();
        let is_base64 = text[run_start..run_end].contains(['+', '=']);
        if count >= 2 || (count == 1 && is_base64) {
            for (piece, is_secret) in &mut pieces {
                *is_secret |= mixed(piece);
            }
        }
        extend_to_neighbours(text, &mut pieces);
        secrets.extend(
            pieces
                .into_iter()
                .filter(|(_, is_secret)| *is_secret)
                .map(|(range, _)| range),
        );
        at = run_end;
    }
}

/// Whether a piece is a digest by its length and by the name before it: `SHA-256 9f86…`, `sha256: "9f86…"`. What is called
/// `key_sha256` is none: the key itself is often pasted there.
fn is_digest(text: &str, piece: Range<usize>) -> bool {
    let is_hex = text[piece.clone()]
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit());
    if piece.len() != 64 || !is_hex {
        return false;
    }
    let before = text[..piece.start].trim_end_matches([' ', '\t', ':', '"', '\'', '`']);
    ["SHA-256", "sha256"].iter().any(|name| {
        let rest = before.strip_suffix(name);
        rest.is_some_and(|rest| !rest.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    })
}

/// Extends a random run to neighbouring pieces that do not look like words, because base64 contains `/` and `+`.
fn extend_to_neighbours(text: &str, pieces: &mut [(Range<usize>, bool)]) {
    let is_like = |piece: &Range<usize>| {
        let piece = text[piece.clone()].as_bytes();
        let has = |is: fn(&u8) -> bool| piece.iter().any(is);
        has(u8::is_ascii_uppercase)
            || (piece.len() >= 6 && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic))
    };
    for index in 1..pieces.len() {
        if pieces[index - 1].1 && !pieces[index].1 {
            pieces[index].1 = is_like(&pieces[index].0);
        }
    }
    for index in (1..pieces.len()).rev() {
        if pieces[index].1 && !pieces[index - 1].1 {
            pieces[index - 1].1 = is_like(&pieces[index - 1].0);
        }
    }
}

/// Whether a part of this piece has letters of both cases and digits, like base64.
fn is_mixed(piece: &str) -> bool {
    piece.split(['-', '_', '.', '~', '%']).any(|part| {
        let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
        part.len() >= 8
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
    })
}

/// Whether a part of this piece, between dashes and dots, is random.
fn is_random(piece: &str) -> bool {
    piece.split(['-', '_', '.', '~', '%']).any(|part| {
        if part.len() < RANDOM_CHARS_MIN {
            return false;
        }
        let bytes = part.as_bytes();
        let turns = |differ: fn(u8, u8) -> bool| {
            let pairs = bytes.windows(2);
            pairs.filter(|pair| differ(pair[0], pair[1])).count()
        };
        let alternations = turns(|one, other| one.is_ascii_digit() != other.is_ascii_digit());
        let humps = turns(|one, other| one.is_ascii_lowercase() && other.is_ascii_uppercase());
        alternations >= 3 || (humps >= 3 && part.len() < 5 * (humps + 1))
    })
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is constant")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        for text in [
            "sk-CANARY",
            "x sk-proj-CANARY-1 y",
            "SK-CANARY-9",
            "ghp_CANARY0123456789",
            "AKIACANARY012345",
            "eyJCANARYhbGciOi.J9.x-y_z",
            "Authorization: Bearer CANARY1",
            "basic CANARYdXNlcjpwYXNz",
            "password=CANARY",
            "\"api_key\": \"CANARY\"",
            "# the token: CANARY",
            "https://user:CANARY@host/v1",
            "https://user:CAN/CANARY@host/v1",
            "https://CANARY@host",
            "user:CANARY@host:6379",
            "redis://:CANARY@host:6379/0",
            "https://host/v1?key=CANARY&x=1",
            "https://host/v1?x=CANARY1",
            "/v1/x?api-key=CANARY",
            "https://host/#access_token=CANARY",
            "CANARY9f8e7d6c5b4a3210",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY/CANARY",
            "https://host/hooks/CANARYT0aB3dEf9hIjKl0mNo",
            "CANARYaB3dEf/9hIjKl0mNoPqR+stUv==",
            "0b5f9f3c-dd0e-4a21-f57d-5a1a2ab7e7b9 0123456789abcdef0123456789abcdef",
            "-----BEGIN RSA PRIVATE KEY-----\nCANARY\nCANARY\n-----END RSA PRIVATE KEY-----",
        ] {
            let masked = masked(text);
            assert!(masked.contains(MASK), "{text} became {masked}");
            assert!(!masked.contains("CANARY"), "{text} became {masked}");
        }
    }

    #[test]
    fn what_is_no_secret_stays_as_it_is() {
        for text in [
            "gpt-4o-mini-2024-07-18 claude-3-5-sonnet-20241022 doubao-seedance-1-5-pro-251215",
            "Qwen2.5-VL-72B-Instruct-AWQ-Int4 models/Qwen2.5-7B-Instruct",
            "https://api.provider.example/v1/services/aigc/image2video/video-synthesis",
            "http://127.0.0.1:8080/v1?api-version=2024-05-01&stream=true",
            "POST /v1/chat/completions",
            "schemas/family_a/2.0-fast.schema.json",
            "tokens_per_minute: 60000",
            "the token is not known, ask for a bearer token",
            "`headgate key new` prints a key and its `key_sha256`",
            "export HEADGATE_TASK_KEY=$(headgate key task)",
            "add `credential`: How the gateway proves itself to the provider",
            "bearer: ${PRIMARY_API_KEY}",
            "x-request-id, risk-averse-investment-strategy",
            "one of api_key, bearer, header",
            "^/(?<version>v1)/(.*)",
            "`Authorization: Bearer …`",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
