//! A cheap estimate of the tokens that a request will use, before the provider has counted them.

use super::data_uri::has_data_scheme;
use super::json::{DocumentNode, JsonDocument, ValueKind};

/// Bytes of text per token: about right for English, too high an estimate for most other languages in UTF-8.
const BYTES_PER_TOKEN: u64 = 4;
/// Bytes of text per token beyond which no text is as a rule: languages and code have 2 to 5.
const MOST_BYTES_PER_TOKEN: u64 = 6;
/// The tokens of an image or a page of a document, whatever the length of its encoding.
const MEDIA_TOKENS: u64 = 1000;
/// Shorter strings count as text, whatever they contain.
const MEDIA_BYTES_MIN: usize = 1024;
/// How many bytes of a string are checked for being base64.
const MEDIA_LOOK_BYTES: usize = 256;
/// The maximum of any count: far beyond any model, and far from an overflow when many are added.
pub const TOKENS_MAX: u64 = 1 << 40;

/// Members that say how much output a request may have. Choices: `n`, and `best_of` of completions. Caps of each choice:
/// the next three. Budgets of reasoning: an integer in `thinking_budget`, `thinking.budget_tokens` of the messages
/// protocol, and `reasoning.max_tokens` of aggregators.
const OUTPUT_FIELDS: [&str; 8] = [
    "n",
    "best_of",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "thinking_budget",
    "thinking",
    "reasoning",
];

/// The estimated tokens of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenEstimate {
    pub input: u64,
    pub output: u64,
}

impl TokenEstimate {
    /// Input: a quarter of the body's bytes, with each base64 string counted as 1,000 tokens. Output: the largest cap that
    /// the body has, since nobody knows which one a provider obeys, for each of its choices. A budget of reasoning counts
    /// as a cap beside others, and in addition to `output_default` without any.
    pub fn from_body(body: &JsonDocument, output_default: u64) -> Self {
        let root = body.root();
        let mut media = EncodedMediaTotal::default();
        media.look_at(root);
        let text_bytes = body.body().len() as u64 - media.bytes;
        let [
            n,
            best_of,
            completion,
            output,
            all,
            budget,
            thinking,
            reasoning,
        ] = root.get_each(OUTPUT_FIELDS);
        let number = |field: Option<DocumentNode<'_>>| field?.as_u64();
        let largest = |fields: &[Option<DocumentNode<'_>>]| {
            fields.iter().filter_map(|field| number(*field)).max()
        };
        let thinking = thinking.and_then(|thinking| thinking.get("budget_tokens"));
        let reasoning = reasoning.and_then(|reasoning| reasoning.get("max_tokens"));
        let budget = largest(&[budget, thinking, reasoning]).unwrap_or(0);
        let output = match largest(&[completion, output, all]) {
            Some(cap) => cap.max(budget),
            None => budget.saturating_add(output_default),
        };
        let choices = largest(&[n, best_of]).unwrap_or(1).max(1);
        Self {
            input: text_bytes.div_ceil(BYTES_PER_TOKEN) + media.count * MEDIA_TOKENS,
            output: output.saturating_mul(choices).min(TOKENS_MAX),
        }
    }

    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output).min(TOKENS_MAX)
    }
}

/// Whether a request has more input tokens than `window`, by the least that its text can have: images and documents count
/// nothing, and neither do blanks between members nor the escapes of strings.
pub fn exceeds(body: &JsonDocument, window: u64) -> bool {
    let tokens = |bytes: u64| bytes / MOST_BYTES_PER_TOKEN;
    // Most bodies are so short that no string needs to be decoded.
    tokens(body.body().len() as u64) > window && tokens(text_bytes(body.root())) > window
}

/// The bytes of all text in UTF-8.
fn text_bytes(node: DocumentNode<'_>) -> u64 {
    match node.kind() {
        ValueKind::String if is_media(node) => 0,
        ValueKind::String => node.as_str().map_or(0, |text| text.len() as u64),
        ValueKind::Array => node.elements().map(text_bytes).sum(),
        ValueKind::Object => node.values().map(text_bytes).sum(),
        ValueKind::Number | ValueKind::Bool | ValueKind::Null => 0,
    }
}

/// The encoded media in a body.
#[derive(Default)]
struct EncodedMediaTotal {
    bytes: u64,
    count: u64,
}

impl EncodedMediaTotal {
    fn look_at(&mut self, node: DocumentNode<'_>) {
        if node.span().len() < MEDIA_BYTES_MIN {
            return;
        }
        match node.kind() {
            ValueKind::String if is_media(node) => {
                self.bytes += node.raw().len() as u64;
                self.count += 1;
            }
            ValueKind::Array => node.elements().for_each(|element| self.look_at(element)),
            ValueKind::Object => node.values().for_each(|value| self.look_at(value)),
            ValueKind::String | ValueKind::Number | ValueKind::Bool | ValueKind::Null => {}
        }
    }
}

/// Whether a string is long, and a data URL or base64.
pub(crate) fn is_media(string: DocumentNode<'_>) -> bool {
    if string.raw().len() < MEDIA_BYTES_MIN {
        return false;
    }
    let content = &string.raw()[1..];
    let beginning = &content[..content.len().min(MEDIA_LOOK_BYTES)];
    has_data_scheme(content)
        || beginning
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-\\".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::JsonLimits;

    fn estimate(body: &str) -> TokenEstimate {
        let body = JsonDocument::parse(body.to_string().into(), &JsonLimits::default()).unwrap();
        TokenEstimate::from_body(&body, 1024)
    }

    #[test]
    fn text_counts_by_its_length() {
        let body = format!(r#"{{"input":"{}"}}"#, "many words ".repeat(1000));
        assert_eq!(estimate(&body).input, 11_012_u64.div_ceil(4));
        assert_eq!(estimate("{}").input, 1);
    }

    #[test]
    fn a_window_is_exceeded_by_text_only() {
        let letters = "\\u0447\\u0430\\u0439 ".repeat(1000);
        let picture = "iVBORw0KGgoAAAANSUhEUgAA".repeat(4000);
        for (text, window, is_exceeded) in [
            ("many words ".repeat(1000), 1_800, true),
            ("many words ".repeat(1000), 1_900, false),
            // Seven bytes of text in nineteen of JSON.
            (letters.clone(), 1_160, true),
            (letters, 1_170, false),
            (picture, 100, false),
        ] {
            let body = format!("{{\"input\":{}\"{text}\"}}", " ".repeat(30_000));
            let body = JsonDocument::parse(body.into(), &JsonLimits::default()).unwrap();
            assert_eq!(exceeds(&body, window), is_exceeded, "{window}");
        }
    }

    #[test]
    fn a_picture_counts_the_same_however_large_its_encoding_is() {
        for encoding in [
            "iVBORw0KGgoAAAANSUhEUgAA".repeat(4000),
            format!("data:image/png;base64,{}", "AAAA".repeat(50_000)),
        ] {
            let body = format!(
                r#"{{"messages":[{{"content":[{{"data":"{encoding}"}},{{"data":"{encoding}"}}]}}]}}"#
            );
            let TokenEstimate { input, .. } = estimate(&body);
            assert!((2000..2050).contains(&input), "{input}");
        }
    }

    #[test]
    fn the_answer_may_be_as_long_as_the_body_allows() {
        for (body, output) in [
            ("{}", 1024),
            (r#"{"max_tokens":null}"#, 1024),
            (r#"{"max_tokens":10}"#, 10),
            (r#"{"max_output_tokens":20}"#, 20),
            (r#"{"max_tokens":10,"max_completion_tokens":30}"#, 30),
            (r#"{"max_tokens":30,"max_completion_tokens":10}"#, 30),
            (r#"{"max_completion_tokens":1,"max_output_tokens":9}"#, 9),
            (r#"{"max_completion_tokens":null,"max_tokens":"x"}"#, 1024),
            (r#"{"max_tokens":10,"thinking":{"budget_tokens":50}}"#, 50),
            (r#"{"max_tokens":60,"thinking":{"budget_tokens":50}}"#, 60),
            (r#"{"thinking_budget":50}"#, 1074),
            (r#"{"reasoning":{"max_tokens":50,"effort":"high"}}"#, 1074),
            (r#"{"reasoning":{"effort":"high"},"thinking":null}"#, 1024),
            (r#"{"max_tokens":10,"n":2,"best_of":5}"#, 50),
            (r#"{"max_tokens":10,"n":3}"#, 30),
            (r#"{"n":2}"#, 2048),
            (r#"{"n":0}"#, 1024),
            (r#"{"max_tokens":18446744073709551615,"n":99}"#, TOKENS_MAX),
        ] {
            assert_eq!(estimate(body).output, output, "{body}");
        }
        assert_eq!(
            estimate(r#"{"max_tokens":18446744073709551615}"#).total(),
            TOKENS_MAX
        );
    }
}
