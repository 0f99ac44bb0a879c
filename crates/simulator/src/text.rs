//! The text of the simulated model, its size in tokens, and how it is split into stream events.

/// The text that fills a response up to its length.
const FILLER: &str = "The gate at the head of the channel is open, and the water runs as it should. \
    Every field below gets its share in turn, none of them floods, and what is left over \
    returns to the river. If one channel falls dry the keeper turns the next one on. ";

/// How much of the user's text a response quotes, in bytes.
const QUOTE_BYTES: usize = 100;

/// The number of bytes of text per token.
const TOKEN_BYTES: usize = 4;

/// The tokens of a text of this many bytes.
pub fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(TOKEN_BYTES) as u64
}

/// A response to `last_user_text` of exactly `bytes` bytes, or fewer if a character would be split.
pub fn reply_text(last_user_text: &str, bytes: usize) -> String {
    let quote_end = last_user_text.floor_char_boundary(QUOTE_BYTES);
    let mut text = format!(
        "You said: \u{201c}{}\u{201d}. ",
        &last_user_text[..quote_end]
    );
    while text.len() < bytes {
        let missing = bytes - text.len();
        text.push_str(&FILLER[..missing.min(FILLER.len())]);
    }
    text.truncate(text.floor_char_boundary(bytes));
    text
}

/// The number of bytes of a response with `tokens` tokens.
pub fn response_bytes(tokens: u64) -> usize {
    usize::try_from(tokens).map_or(usize::MAX, |tokens| tokens.saturating_mul(TOKEN_BYTES))
}

/// The pieces of a text for a stream: of `size` bytes each, or of a few words if `size` is `None`.
pub fn pieces(text: &str, size: Option<usize>) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = size.map_or_else(|| few_words(rest), |size| at_most(rest, size));
        let (piece, left) = rest.split_at(end);
        rest = left;
        Some(piece)
    })
}

/// The end of the first few words: the first space after 8 bytes, or else at 24 bytes.
fn few_words(text: &str) -> usize {
    let latest = at_most(text, 24);
    let earliest = at_most(text, 8);
    text[earliest..latest]
        .find(' ')
        .map_or(latest, |space| earliest + space)
}

/// The last character boundary within `size` bytes, but at least one character.
fn at_most(text: &str, size: usize) -> usize {
    let first_char = text.chars().next().map_or(0, char::len_utf8);
    text.floor_char_boundary(size).max(first_char)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_quotes_the_user_and_has_the_size_asked_for() {
        let text = reply_text("Is it raining?", 240);
        assert!(text.contains("Is it raining?"));
        assert_eq!(text.len(), 240);
        assert_eq!(reply_text("x", 100_000).len(), 100_000);
        assert_eq!(reply_text("x", 3), "You");
    }

    #[test]
    fn pieces_put_together_are_the_text() {
        let text = reply_text("Grüße aus 東京, bitte", 300);
        for size in [None, Some(1), Some(7), Some(10_000)] {
            let whole: String = pieces(&text, size).collect();
            assert_eq!(whole, text, "size {size:?}");
        }
        assert!((15..40).contains(&pieces(&text, None).count()));
        assert_eq!(
            pieces("abcdefg", Some(3)).collect::<Vec<_>>(),
            ["abc", "def", "g"]
        );
    }
}
