//! Names of tools and users and ids of calls, in the letters and lengths that each protocol takes.

use crate::context::RenamedTool;
use crate::dialect::CallIdForm;
use crate::escaped_text::EscapedText;
use crate::ledger::{FieldOutcome, Ledger};
use crate::superset::Request;
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::DocumentNode;

/// The name under which a provider gets a tool.
pub(crate) fn sent_name<'a>(name: &EscapedText<'a>, channel: ProviderFormat) -> EscapedText<'a> {
    fitted(name, name_rule(channel))
}

/// The id under which a provider gets a call. It may not repeat that of an earlier call.
pub(crate) fn sent_id<'a>(
    id: &EscapedText<'a>,
    repetition: usize,
    channel: ProviderFormat,
) -> EscapedText<'a> {
    let rule = id_rule(channel);
    match repetition {
        0 => fitted(id, rule),
        _ => with_hash(&id.decoded(), rule, hash(&id.decoded(), repetition as u64)),
    }
}

/// The id under which a provider of chat or responses gets a call and its result: OpenAI takes 64 letters. It never comes back:
/// providers choose the ids of their own calls.
pub(crate) fn sent_call_id<'a>(id: &EscapedText<'a>, form: CallIdForm) -> EscapedText<'a> {
    const LETTERS: [u8; 62] = *b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let written = id.as_written().as_bytes();
    let fits = written.len() == 9 && written.iter().all(u8::is_ascii_alphanumeric);
    if form == CallIdForm::Any {
        return shortened(id, 64);
    }
    if fits {
        return id.clone();
    }
    let mut rest = hash(&id.decoded(), 0);
    let letters = std::iter::repeat_with(|| {
        let letter = LETTERS[usize::try_from(rest % 62).unwrap_or(0)];
        rest /= 62;
        char::from(letter)
    });
    let sent: String = letters.take(9).collect();
    EscapedText::plain(&sent)
}

/// A name of at most `len_max` letters. That of a longer one ends with a hash, so that different names stay different.
fn shortened<'a>(name: &EscapedText<'a>, len_max: usize) -> EscapedText<'a> {
    if name.as_written().len() <= len_max {
        return name.clone();
    }
    let decoded = name.decoded();
    if decoded.chars().count() <= len_max {
        return name.clone();
    }
    let mut shortened: String = decoded.chars().take(len_max - HASH_LEN).collect();
    shortened.push_str(&format!("_{:016x}", hash(&decoded, 0)));
    EscapedText::plain(&shortened)
}

/// A user's name as OpenAI takes it: at most 64 letters.
pub(crate) fn shortened_user<'a>(
    name: &EscapedText<'a>,
    at: Option<DocumentNode<'_>>,
    ledger: &mut Ledger,
) -> EscapedText<'a> {
    let sent = shortened(name, 64);
    if let Some(at) = at.filter(|_| sent != *name) {
        let reason = "is shortened to 64 letters, of which the last ones are a hash";
        ledger.add(at, FieldOutcome::Approximated, reason);
    }
    sent
}

/// A user's name as Anthropic takes it: at most 256 letters, and no address or number of a person, which its API refuses
/// (platform.claude.com/docs/en/api/messages, `metadata.user_id`). Such a name becomes a hash.
pub(crate) fn anonymous_user<'a>(name: &EscapedText<'a>) -> EscapedText<'a> {
    let decoded = name.decoded();
    match decoded.contains('@') || is_phone_number(&decoded) {
        true => EscapedText::plain(&format!("user_{:016x}", hash(&decoded, 0))),
        false => shortened(name, 256),
    }
}

/// Whether a name has only what telephone numbers have, and as many digits.
fn is_phone_number(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    let is_of_number = |letter: char| letter.is_ascii_digit() || " +-().".contains(letter);
    (7..=15).contains(&digits)
        && name.chars().all(is_of_number)
        && name.contains(['+', '-', ' ', '('])
}

/// Tools whose names a protocol does not take.
pub(crate) fn renamed_tools(request: &Request<'_>, channel: ProviderFormat) -> Vec<RenamedTool> {
    let renamed = request.tools.iter().filter_map(|tool| {
        let name = tool.name()?;
        if fits(name.as_written(), name_rule(channel)) {
            return None;
        }
        let sent = sent_name(name, channel);
        Some(RenamedTool {
            name: name.decoded().into(),
            sent: sent.as_written().into(),
        })
    });
    renamed.collect()
}

/// Gives a tool that a provider called the name by which the caller knows it.
pub(crate) fn restore(name: &mut EscapedText<'_>, renamed_tools: &[RenamedTool]) {
    let mut renamed_tools = renamed_tools.iter();
    if let Some(tool) = renamed_tools.find(|tool| *tool.sent == *name.decoded()) {
        *name = EscapedText::plain(&tool.name);
    }
}

/// Which names a protocol takes: of `a-zA-Z0-9_-`.
#[derive(Clone, Copy)]
struct NameRule {
    len_max: usize,
    /// Whether the first letter must be one of `a-zA-Z_`.
    begins_with_letter: bool,
}

fn id_rule(channel: ProviderFormat) -> NameRule {
    let len_max = match channel {
        // They have no limit; longer ones are shortened nevertheless.
        ProviderFormat::Chat
        | ProviderFormat::Messages
        | ProviderFormat::Responses
        | ProviderFormat::Gemini => 256,
        ProviderFormat::Converse => 64,
    };
    NameRule {
        len_max,
        begins_with_letter: false,
    }
}

fn name_rule(channel: ProviderFormat) -> NameRule {
    let (len_max, begins_with_letter) = match channel {
        ProviderFormat::Chat | ProviderFormat::Responses | ProviderFormat::Converse => (64, false),
        ProviderFormat::Messages => (128, false),
        // Newer models take dots and more letters, older ones do not.
        ProviderFormat::Gemini => (64, true),
    };
    NameRule {
        len_max,
        begins_with_letter,
    }
}

/// The text itself if it has no other letters than `a-zA-Z0-9_-`, begins as the rule demands, and is not too long. Otherwise its beginning with other
/// letters replaced, and a hash of the whole, so that different texts stay different.
fn fitted<'a>(text: &EscapedText<'a>, rule: NameRule) -> EscapedText<'a> {
    if fits(text.as_written(), rule) {
        return text.clone();
    }
    let text = text.decoded();
    if fits(&text, rule) {
        return EscapedText::plain(&text);
    }
    with_hash(&text, rule, hash(&text, 0))
}

fn with_hash(text: &str, rule: NameRule, hash: u64) -> EscapedText<'static> {
    let mut fitted = String::new();
    if rule.begins_with_letter && !text.starts_with(may_begin) {
        fitted.push('_');
    }
    let letters = text.chars().take(rule.len_max - HASH_LEN - fitted.len());
    fitted.extend(
        letters.map(|letter| match letter.is_ascii() && is_plain(letter as u8) {
            true => letter,
            false => '_',
        }),
    );
    fitted.push_str(&format!("_{hash:016x}"));
    EscapedText::plain(&fitted)
}

/// Letters of a hash and of the underscore before it.
const HASH_LEN: usize = 17;

fn fits(text: &str, rule: NameRule) -> bool {
    (1..=rule.len_max).contains(&text.len())
        && text.bytes().all(is_plain)
        && (!rule.begins_with_letter || text.starts_with(may_begin))
}

fn may_begin(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn is_plain(letter: u8) -> bool {
    letter.is_ascii_alphanumeric() || letter == b'_' || letter == b'-'
}

/// FNV-1a.
fn hash(text: &str, seed: u64) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_named_by_a_hash_where_their_name_is_an_address_or_a_number() {
        let long = "u".repeat(257);
        for (name, is_kept) in [
            ("user-1234567", true),
            ("12345678", true),
            ("3fa85f64-5717-4562-b3fc-2c963f66afa6", true),
            ("alice@example.com", false),
            ("+49 170 1234567", false),
            (long.as_str(), false),
        ] {
            let sent = anonymous_user(&EscapedText::plain(name));
            assert_eq!(sent.decoded() == name, is_kept, "{name}");
            assert!(sent.as_written().len() <= 256);
        }
    }

    #[test]
    fn texts_that_fit_stay_and_others_stay_different() {
        let long = "a".repeat(65);
        let longer = "a".repeat(66);
        let cases = [
            ("get_weather-2", "get_weather-2"),
            (r"get\u005fweather", "get_weather"),
            ("", "_cbf29ce484222325"),
            ("fs.read", "fs_read_0c64ab6d43144144"),
            ("fs/read", "fs_read_1f6b51aedb50ded7"),
        ];
        for (name, sent) in cases {
            let text = EscapedText::literal(name);
            let fitted = sent_name(&text, ProviderFormat::Chat);
            assert_eq!(fitted.as_written(), sent, "{name}");
        }
        let fitted = |name: &str| {
            let text = EscapedText::plain(name);
            let fitted = sent_name(&text, ProviderFormat::Chat);
            fitted.as_written().to_owned()
        };
        assert_eq!(fitted(&long).len(), 64);
        assert_ne!(fitted(&long), fitted(&longer));
        for (name, sent) in [
            ("get_weather-2", "get_weather-2"),
            ("_x", "_x"),
            ("2nd", "_2nd_6163601828866e9f"),
            ("-x", "_-x_07d04207b4982ea0"),
        ] {
            let fitted = sent_name(&EscapedText::literal(name), ProviderFormat::Gemini);
            assert_eq!(fitted.as_written(), sent, "{name}");
        }
        let digits = "1".repeat(65);
        let fitted_digits = sent_name(&EscapedText::plain(&digits), ProviderFormat::Gemini);
        assert_eq!(fitted_digits.as_written().len(), 64);
        let long_id = EscapedText::plain(&long);
        assert_eq!(
            sent_id(&long_id, 0, ProviderFormat::Messages).as_written(),
            long
        );
        let ids =
            [0, 1, 2].map(|repetition| sent_id(&long_id, repetition, ProviderFormat::Converse));
        assert!(ids.iter().all(|id| id.as_written().len() <= 64));
        assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    }
}
