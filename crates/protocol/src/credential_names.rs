//! Names of headers and query members that carry credentials by convention.

/// Words before `key` in names that carry no credential, such as `idempotency-key`.
const OTHER_KEYS: [&[u8]; 3] = [b"idempotency", b"idempotent", b"cache"];
/// Words before `token` in names that refer to the next page of a list, such as `page_token`.
const PAGES: [&[u8]; 5] = [b"page", b"next", b"continuation", b"cursor", b"sync"];
/// Endings with `key` that are written without a separator.
const JOINED_KEYS: [&[u8]; 5] = [
    b"apikey",
    b"accesskey",
    b"authkey",
    b"secretkey",
    b"subscriptionkey",
];

/// Whether a header or a query member of this name carries a credential by convention. `name` is in lower case; its
/// words are separated by any character that is not a letter or digit.
///
/// Called for each header of each request: the last three letters decide for most names.
pub fn names_credential(name: &[u8]) -> bool {
    let is_word = |word: &[u8]| ends_with_word(name, word);
    let by_its_end = match name.last_chunk() {
        Some(b"key") => {
            JOINED_KEYS.iter().any(|joined| name.ends_with(joined))
                || is_word(b"key") && !follows(name, b"key", &OTHER_KEYS)
        }
        Some(b"ken") => name.ends_with(b"token") && !follows(name, b"token", &PAGES),
        Some(b"ion") => {
            name.ends_with(b"authorization")
                || is_word(b"authentication")
                || is_word(b"jwt-assertion")
        }
        Some(b"ret") => name.ends_with(b"secret"),
        Some(b"jwt") => is_word(b"jwt"),
        Some(b"ert") => is_word(b"client-cert"),
        Some(b"ord") => name.ends_with(b"password"),
        Some(b"swd") => is_word(b"passwd"),
        Some(b"pwd") => is_word(b"pwd"),
        Some(b"kie") => name.ends_with(b"cookie"),
        Some(b"ie2") => is_word(b"cookie2"),
        Some(b"ase") => is_word(b"passphrase"),
        Some(b"uth") => is_word(b"auth"),
        Some(b"ial") => is_word(b"credential"),
        Some(b"als") => is_word(b"credentials"),
        Some(b"ata") => is_word(b"oidc-data"),
        _ => false,
    };
    by_its_end || begins_with_auth(name)
}

/// Like [`names_credential`], for a query member: in any case, percent-encoded, in camel case, or followed by an index
/// in brackets. `folded` is a buffer that is overwritten.
pub fn member_names_credential(member: &str, folded: &mut Vec<u8>) -> bool {
    [false, true].into_iter().any(|is_camel_case| {
        folded.clear();
        let mut before = 0_u8;
        for byte in decoded(member.as_bytes()).take_while(|byte| *byte != b'[') {
            if is_camel_case && byte.is_ascii_uppercase() && before.is_ascii_lowercase() {
                folded.push(b'-');
            }
            folded.push(byte.to_ascii_lowercase());
            before = byte;
        }
        names_credential(folded) || folded == b"sig" || folded.starts_with(b"x-amz-")
    })
}

/// Percent-decodes `text`. An invalid escape is left as it is.
pub fn decoded(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (byte, remainder) = match rest {
            [b'%', high, low, remainder @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                (digit(*high) << 4 | digit(*low), remainder)
            }
            [byte, remainder @ ..] => (*byte, remainder),
            [] => return None,
        };
        rest = remainder;
        Some(byte)
    })
}

fn digit(hex: u8) -> u8 {
    match hex {
        b'0'..=b'9' => hex - b'0',
        _ => (hex | 0x20) - b'a' + 10,
    }
}

fn ends_with_word(name: &[u8], word: &[u8]) -> bool {
    name.strip_suffix(word).is_some_and(|before| {
        before
            .last()
            .is_none_or(|byte| !byte.is_ascii_alphanumeric())
    })
}

/// Whether one of `words` precedes the last word of a name.
fn follows(name: &[u8], last: &[u8], words: &[&[u8]]) -> bool {
    let before = name.strip_suffix(last).unwrap_or_default();
    let before = match before.split_last() {
        Some((byte, rest)) if !byte.is_ascii_alphanumeric() => rest,
        _ => before,
    };
    words.iter().any(|word| ends_with_word(before, word))
}

/// Whether a name starts with `auth` or `x-auth`, such as `auth-user` or `x-auth-email`: such headers accompany a
/// credential.
fn begins_with_auth(name: &[u8]) -> bool {
    let name = match name {
        [b'x', b'-' | b'_', rest @ ..] => rest,
        _ => name,
    };
    name.strip_prefix(b"auth").is_some_and(|rest| {
        rest.first()
            .is_some_and(|byte| !byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_judged_by_its_words() {
        for (name, carries) in [
            ("authorization", true),
            ("x-authorization", true),
            ("api-key", true),
            ("apikey", true),
            ("x_api_key", true),
            ("ocp-apim-subscription-key", true),
            ("x-amz-security-token", true),
            ("x-auth-email", true),
            ("auth", true),
            ("cookie", true),
            ("x-jwt-assertion", true),
            ("idempotency-key", false),
            ("prompt-cache-key", false),
            ("x-monkey", false),
            ("x-author", false),
            ("page-token", false),
            ("nexttoken", false),
            ("x-max-tokens", false),
            ("content-type", false),
            ("user-agent", false),
            ("", false),
        ] {
            assert_eq!(names_credential(name.as_bytes()), carries, "{name}");
        }
    }

    #[test]
    fn a_query_member_is_judged_by_what_it_means() {
        let mut folded = Vec::new();
        for (member, carries) in [
            ("key", true),
            ("apiKey", true),
            ("api%5Fkey", true),
            ("%6b%45%79", true),
            ("accessToken", true),
            ("functionsKey", true),
            ("token[0]", true),
            ("sig", true),
            ("X-Amz-Signature", true),
            ("x-amzn-trace", false),
            ("pageToken", false),
            ("monkey", false),
            ("%zz_key", true),
            ("aPi_kEy", true),
            ("100%", false),
            ("", false),
        ] {
            assert_eq!(
                member_names_credential(member, &mut folded),
                carries,
                "{member}"
            );
        }
    }
}
