//! Patterns of codes and of messages.

/// Whether a code begins with `pattern`, or contains it if the pattern begins with `*`.
///
/// Only letters and digits count, in any case: `ModelNotFound`, `model_not_found` and `MODEL-NOT-FOUND` are one code. A
/// pattern of digits must be the whole code.
pub fn matches_code(pattern: &str, code: &str) -> bool {
    let is_number = pattern.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        return pattern == code;
    }
    match pattern.strip_prefix('*') {
        Some(part) => code
            .char_indices()
            .any(|(at, _)| begins_with_letters(&code[at..], part)),
        None => begins_with_letters(code, pattern),
    }
}

/// Whether a message begins with `pattern`, without regard to case.
///
/// `*` stands for one word: a name with its quotes, without white space. `$` at the end is the end of the message, before
/// which a full stop may stand. What follows a text of the caller is never compared: a pattern begins where the message
/// does.
pub fn matches_message(pattern: &str, message: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut rest = message.trim_start();
    for (index, literal) in pattern.split('*').enumerate() {
        let found = match index {
            0 => strip_literal(rest, literal),
            _ => after_word(rest, literal),
        };
        match found {
            Some(found) => rest = found,
            None => return false,
        }
    }
    !is_whole || matches!(rest.trim_end(), "" | "." | "!" | "。")
}

fn begins_with_letters(text: &str, beginning: &str) -> bool {
    let mut letters = text.chars().filter(|letter| letter.is_alphanumeric());
    let mut expected = beginning.chars().filter(|letter| letter.is_alphanumeric());
    expected.all(|expected| {
        letters
            .next()
            .is_some_and(|letter| letter.eq_ignore_ascii_case(&expected))
    })
}

fn strip_literal<'a>(text: &'a str, literal: &str) -> Option<&'a str> {
    let start = text.get(..literal.len())?;
    start
        .eq_ignore_ascii_case(literal)
        .then(|| &text[literal.len()..])
}

/// What follows `literal`, which ends the word that `text` begins with.
fn after_word<'a>(text: &'a str, literal: &str) -> Option<&'a str> {
    let word_end = text.find(char::is_whitespace).unwrap_or(text.len());
    if literal.is_empty() {
        return (word_end > 0).then(|| &text[word_end..]);
    }
    text[..word_end]
        .char_indices()
        .map(|(at, _)| at)
        .chain([word_end])
        .skip(1)
        .find_map(|at| strip_literal(&text[at..], literal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_compared_by_letters_and_digits() {
        for (pattern, code, matches) in [
            ("model_not_found", "ModelNotFound", true),
            ("ModelNotFound", "MODEL-NOT-FOUND", true),
            ("Model.AccessDenied", "model_access_denied.x", true),
            ("model_not_found", "the_model_not_found", false),
            ("*ratelimit", "ModelAccountRpmRateLimitExceeded", true),
            ("*ratelimit", "limit", false),
            ("1301", "1301", true),
            ("1301", "13012", false),
            ("model_not_found", "", false),
        ] {
            assert_eq!(matches_code(pattern, code), matches, "{pattern} {code}");
        }
    }

    #[test]
    fn messages_are_compared_from_their_start_with_words_for_names() {
        for (pattern, message, matches) in [
            ("Model Not Exist$", "Model Not Exist", true),
            ("Model Not Exist$", "model not exist.", true),
            ("Model Not Exist$", "Model Not Exist is no role", false),
            (
                "The model * does not exist",
                "The model `a/b` does not exist.",
                true,
            ),
            (
                "The model * does not exist",
                "The model does not exist",
                false,
            ),
            (
                "The model * does not exist",
                "The model `a` b does not exist",
                false,
            ),
            (
                "The model * does not exist",
                "x: The model `a` does not exist",
                false,
            ),
            ("model *, try", "model 'a', try pulling it", true),
            (
                "model * not found",
                "model \"llama3:8b\" not found, try",
                true,
            ),
            ("model *", "model ", false),
            ("欠费", "欠费了", true),
            ("é", "e", false),
        ] {
            assert_eq!(
                matches_message(pattern, message),
                matches,
                "{pattern} {message}"
            );
        }
    }
}
