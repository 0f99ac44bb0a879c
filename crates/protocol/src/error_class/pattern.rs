//! Patterns of codes and of messages.

/// A pattern of a code or type: its beginning, or after `*` any part of it; with `$` at the end, up to its end.
///
/// Only letters and digits count, in any case: `ModelNotFound`, `model_not_found` and `MODEL-NOT-FOUND` are one code. A
/// pattern that ends in a digit does not match a longer number.
#[derive(Clone, Copy, Debug)]
pub struct CodePattern<'a>(pub &'a str);

/// A pattern of a message: its beginning, without regard to case.
///
/// `*` stands for one word: a name with its quotes, without white space. `$` at the end is the end of the message, before
/// which a full stop may stand. A message in which a provider quotes a text of the caller does not begin with that text.
#[derive(Clone, Copy, Debug)]
pub struct MessagePattern<'a>(pub &'a str);

impl CodePattern<'_> {
    pub fn matches(self, code: &str) -> bool {
        let (pattern, is_whole) = strip_end(self.0);
        match pattern.strip_prefix('*') {
            Some(part) => code
                .char_indices()
                .any(|(at, _)| begins_with_letters(&code[at..], part, is_whole)),
            None => begins_with_letters(code, pattern, is_whole),
        }
    }
}

impl MessagePattern<'_> {
    pub fn matches(self, message: &str) -> bool {
        let (pattern, is_whole) = strip_end(self.0);
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
}

/// The pattern without the `$` of its end, and whether it has one.
fn strip_end(pattern: &str) -> (&str, bool) {
    match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    }
}

fn begins_with_letters(text: &str, beginning: &str, is_whole: bool) -> bool {
    let mut letters = text.chars().filter(|letter| letter.is_alphanumeric());
    let mut last = None;
    for expected in beginning.chars().filter(|letter| letter.is_alphanumeric()) {
        match letters.next() {
            Some(letter) if letter.eq_ignore_ascii_case(&expected) => last = Some(expected),
            _ => return false,
        }
    }
    let ends_in_digit = last.is_some_and(|last| last.is_ascii_digit());
    letters
        .next()
        .is_none_or(|next| !(is_whole || ends_in_digit && next.is_ascii_digit()))
}

fn strip_literal<'a>(text: &'a str, literal: &str) -> Option<&'a str> {
    let start = text.get(..literal.len())?;
    start
        .eq_ignore_ascii_case(literal)
        .then(|| &text[literal.len()..])
}

/// What follows the first `literal` that begins within or after the word that `text` begins with.
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
            ("base_resp 1002", "base_resp 1002", true),
            ("base_resp 1002", "1002", false),
            ("invalid_model$", "invalid_model", true),
            ("invalid_model$", "invalid_model_output", false),
            ("model_not_found", "", false),
        ] {
            assert_eq!(
                CodePattern(pattern).matches(code),
                matches,
                "{pattern} {code}"
            );
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
                MessagePattern(pattern).matches(message),
                matches,
                "{pattern} {message}"
            );
        }
    }
}
