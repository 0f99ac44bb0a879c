//! Tests that secrets are masked in every form, however pieces are cut, and that ordinary text is unchanged.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::Value;

const SECRET: &str = "sk-sk-secret";
const TOKEN: &str = "to/ken+with=all:kinds/of.bytes~";

fn secrets(values: &[&str]) -> Arc<ChannelSecrets> {
    Arc::new(ChannelSecrets::new(values.iter().copied()))
}

fn masked(secrets: &Arc<ChannelSecrets>, pieces: &[&[u8]]) -> String {
    let mut masker = SecretMasker::new(secrets.clone());
    let mut out = Vec::new();
    for piece in pieces {
        out.extend_from_slice(&masker.push(Bytes::copy_from_slice(piece)));
    }
    out.extend_from_slice(&masker.finish());
    String::from_utf8(out).unwrap()
}

/// The secret unescaped, and in every JSON spelling, alone and inside of JSON strings.
fn forms(secret: &str) -> Vec<String> {
    let each = |form: &dyn Fn(usize, char) -> String| {
        let characters = secret.chars().enumerate();
        characters.map(|(at, c)| form(at, c)).collect::<String>()
    };
    let lower = |c: char| format!("\\u{:04x}", u32::from(c));
    let upper = |c: char| format!("\\u{:04X}", u32::from(c));
    let slash = |c: char| match c {
        '/' => "\\/".to_string(),
        c => c.to_string(),
    };
    let last = secret.len() - 1;
    let mut forms = vec![
        secret.to_string(),
        each(&|_, c| slash(c)),
        each(&|_, c| lower(c)),
        each(&|_, c| upper(c)),
        each(&|at, c| if at % 2 == 0 { lower(c) } else { slash(c) }),
        each(&|at, c| if at % 3 == 0 { upper(c) } else { c.to_string() }),
        each(&|at, c| if at == 0 { lower(c) } else { c.to_string() }),
        each(&|at, c| if at == last { lower(c) } else { c.to_string() }),
    ];
    let within_json = |form: &String| Value::from(form.as_str()).to_string();
    for form in forms.clone() {
        let once = within_json(&form).trim_matches('"').to_string();
        forms.push(once.replace('/', "\\/"));
        forms.push(within_json(&once).trim_matches('"').to_string());
        forms.push(once);
    }
    forms
}

#[test]
fn the_secret_is_masked_wherever_the_pieces_are_cut() {
    let body = format!("a {SECRET}{SECRET} b sk-sk-sk-secret sk-sk-secre");
    let expected = body.replace(SECRET, &"*".repeat(SECRET.len()));
    for first in 0..body.len() {
        for second in first..body.len() {
            let pieces = [&body[..first], &body[first..second], &body[second..]];
            let out = masked(&secrets(&[SECRET]), &pieces.map(str::as_bytes));
            assert_eq!(out, expected, "{first} {second}");
        }
    }
}

#[test]
fn every_form_of_every_kind_of_credential_is_masked_at_every_cut() {
    let basic = format!("Basic {}", STANDARD.encode("user:pass/word+12"));
    let basic_token = basic.strip_prefix("Basic ").unwrap();
    let kinds: [(&[&str], &[&str]); 6] = [
        (&[TOKEN], &[TOKEN]),
        (&["ApiKey to/ken-of-a-header"], &["to/ken-of-a-header"]),
        (
            &[&basic],
            &[basic_token, "user:pass/word+12", "pass/word+12"],
        ),
        (&["Token token=\"quoted/token\", id=1"], &["quoted/token"]),
        (&["Key abc/1"], &["Key abc/1"]),
        (
            &["pooled/key-number-1", "pooled/key-number-2", "other-key/3"],
            &["pooled/key-number-1", "pooled/key-number-2", "other-key/3"],
        ),
    ];
    for (values, shown) in kinds {
        let secrets = secrets(values);
        for form in shown.iter().flat_map(|shown| forms(shown)) {
            let body = format!("{{\"m\":\"the key {form} is wrong\"}}\n\n");
            let expected = body.replace(&form, &"*".repeat(form.len()));
            for cut in 0..=body.len() {
                let (one, other) = body.as_bytes().split_at(cut);
                assert_eq!(masked(&secrets, &[one, other]), expected, "{cut}");
            }
            let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
            assert_eq!(masked(&secrets, &bytes), expected);
        }
    }
}

#[test]
fn what_is_masked_is_the_json_that_it_was() {
    let secrets = secrets(&["/nvapi-secret", "nvapi-other/x"]);
    for body in [
        r#"{"m":"\/nvapi-secret"}"#,
        r#"{"m":"a\\\/nvapi-secret\n"}"#,
        r#"{"m":"\nvapi-other\/x"}"#,
        r#"{"m":"\\nvapi-other\u002fx\\"}"#,
        r#"{"m":"{\"n\":\"\\u006evapi-other\\/x\"}"}"#,
    ] {
        for cut in 0..=body.len() {
            let (one, other) = body.as_bytes().split_at(cut);
            let out = masked(&secrets, &[one, other]);
            assert!(serde_json::from_str::<Value>(&out).is_ok(), "{cut} {out}");
            assert!(!out.contains("vapi"), "{out}");
        }
    }
}

#[test]
fn a_secret_with_a_backslash_or_a_quote_is_found_as_json_has_it() {
    for secret in ["back\\slash-secret", "quo\"te-secret", "\\begin\"\\/end\\"] {
        let secrets = secrets(&[secret]);
        let body = serde_json::json!({"m": secret}).to_string();
        for cut in 0..=body.len() {
            let (one, other) = body.as_bytes().split_at(cut);
            let out = masked(&secrets, &[one, other]);
            assert!(out.contains("****"), "{cut} {out}");
            assert!(
                !out.contains("secret") && !out.contains("end"),
                "{cut} {out}"
            );
        }
    }
}

#[test]
fn an_ordinary_piece_passes_at_once_and_uncopied() {
    let mut masker = SecretMasker::new(secrets(&[SECRET, TOKEN]));
    for text in [
        "data: {\"text\":\"sk-\"}\n\n",
        "data: {\"text\":\"\\u00e9\\u003c\\/\\n\"}\n\n",
        "data: {\"text\":\"\\\\u0073\"}\n\n",
        ": ping\r\n\r\n",
        "data: [DONE]\n\n",
        "{\"id\":\"x\"}",
    ] {
        let piece = Bytes::from_static(text.as_bytes());
        let passed = masker.push(piece.clone());
        assert_eq!(passed.as_ptr(), piece.as_ptr());
        assert_eq!(passed, piece);
        assert!(masker.finish().is_empty());
    }
}

#[test]
fn only_what_may_become_a_secret_is_held_back() {
    let secrets = secrets(&["sk-secret-one"]);
    for (text, held) in [
        ("a sk-secret-on", "sk-secret-on"),
        ("a s", "s"),
        ("a \\", "\\"),
        ("a \\\\", "\\\\"),
        ("a \\u00", "\\u00"),
        ("a \\u0073k-\\u007", "\\u0073k-\\u007"),
        ("a \\u4e", ""),
        ("a \\n", ""),
        ("a sk-secret-x", ""),
        ("a sk-secret-s", "s"),
        ("a u0073", ""),
        ("a sk-secret-one", ""),
    ] {
        let mut masker = SecretMasker::new(secrets.clone());
        masker.push(Bytes::from_static(text.as_bytes()));
        assert_eq!(masker.finish(), held, "{text}");
    }
}

#[test]
fn without_a_secret_everything_passes() {
    for values in [&[][..], &[""], &["short"]] {
        let mut masker = SecretMasker::new(secrets(values));
        assert_eq!(masker.push(Bytes::from_static(b"short")), "short");
    }
}

#[test]
fn a_header_reveals_a_secret_in_every_coding_too() {
    let percent = |secret: &str, all: bool, upper: bool| -> String {
        let escaped = |byte: u8| match (all || !byte.is_ascii_alphanumeric(), upper) {
            (false, _) => char::from(byte).to_string(),
            (true, true) => format!("%{byte:02X}"),
            (true, false) => format!("%{byte:02x}"),
        };
        secret.bytes().map(escaped).collect()
    };
    let basic = "Basic dXNlcjpwYXNzL3dvcmQrMTI=";
    for (value, token) in [
        (TOKEN, TOKEN),
        (basic, "dXNlcjpwYXNzL3dvcmQrMTI="),
        ("12345678", "12345678"),
    ] {
        let secrets = secrets(&[value]);
        let mut headers = forms(token);
        headers.extend([percent(token, true, true), percent(token, true, false)]);
        headers.extend([percent(token, false, true), percent(token, false, false)]);
        headers.push(percent(&percent(token, false, true), false, true));
        for before in ["", "a", "ab", "abc", "Bearer "] {
            for after in ["", "z", "yz"] {
                let around = format!("{before}{token}{after}");
                for encoded in [STANDARD.encode(&around), URL_SAFE_NO_PAD.encode(&around)] {
                    headers.push(percent(&encoded, false, false));
                    headers.push(encoded.replace('/', "\\/"));
                    headers.push(encoded);
                }
            }
        }
        for header in headers {
            let header = format!("x; k=\"{header}\"");
            assert!(secrets.is_in_header(header.as_bytes()), "{header}");
        }
        for innocent in [
            "",
            "application/json",
            "text/event-stream; charset=utf-8",
            "%",
            "%zz%2",
            "100%25",
        ] {
            assert!(!secrets.is_in_header(innocent.as_bytes()), "{innocent}");
        }
    }
}

proptest! {
    #[test]
    fn no_form_is_left_at_any_cuts(
        text in "[a\\\\/\"u0x]{0,12}",
        escapes in proptest::collection::vec(0..4_u8, SECRET.len()),
        cuts in proptest::collection::vec(1..9_usize, 1..40),
    ) {
        let form: String = SECRET.chars().zip(&escapes).map(|(c, escape)| match escape {
            0 => format!("\\u{:04x}", u32::from(c)),
            1 => format!("\\\\u{:04X}", u32::from(c)),
            _ => c.to_string(),
        }).collect();
        let body = format!("\"{}{form}{text}", text.trim_end_matches('\\'));
        let mut rest = body.as_bytes();
        let mut pieces = Vec::new();
        for cut in cuts {
            let (piece, remainder) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece);
            rest = remainder;
        }
        pieces.push(rest);
        let out = masked(&secrets(&[SECRET]), &pieces);
        prop_assert_eq!(out.len(), body.len());
        prop_assert!(!out.contains(&form), "{}", out);
        prop_assert!(out.contains(&"*".repeat(form.len())), "{}", out);
    }
}
