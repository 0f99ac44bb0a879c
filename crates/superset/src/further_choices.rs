//! Notes answers besides the first one, of which a translated response has no place: no request asks for several.

use crate::ledger::{FieldOutcome, Ledger};
use headgate_protocol::conversation::ProviderFormat;
use headgate_protocol::json::DocumentNode;

/// What these losses are known by in a ledger: no field of a table has this key.
const KEY: u64 = u64::MAX;
const REASON: &str = "is a further answer, and no request asks for several";

/// Adds the further answers of a response, or of a stream's event, to `ledger`.
pub fn note_further_choices(format: ProviderFormat, body: DocumentNode<'_>, ledger: &mut Ledger) {
    let list = match format {
        ProviderFormat::Chat => "choices",
        ProviderFormat::Gemini => "candidates",
        ProviderFormat::Messages | ProviderFormat::Responses | ProviderFormat::Converse => return,
    };
    let choices = body.get(list).into_iter().flat_map(DocumentNode::elements);
    let mut has_first = false;
    for (position, choice) in choices.enumerate() {
        let index = choice.get("index").filter(|index| !index.is_null());
        let is_first = index.is_none_or(|index| index.as_u64() == Some(0));
        if is_first && !std::mem::replace(&mut has_first, true) {
            continue;
        }
        let number = index.and_then(DocumentNode::as_u64);
        let number = number.unwrap_or(position as u64);
        let path = || format!("{list}[{number}]");
        ledger.add_kind(KEY, FieldOutcome::Dropped, || REASON.into(), path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::json::{JsonDocument, JsonLimits};

    #[test]
    fn answers_besides_the_first_one_are_named_and_counted() {
        use ProviderFormat::{Chat, Gemini, Messages};
        for (format, body, path, count) in [
            (
                Chat,
                r#"{"choices":[{"index":0},{"index":1},{"index":2}]}"#,
                "choices[1]",
                2,
            ),
            (Chat, r#"{"choices":[{"index":3}]}"#, "choices[3]", 1),
            (
                Chat,
                r#"{"choices":[{"index":1},{"index":0}]}"#,
                "choices[1]",
                1,
            ),
            (Chat, r#"{"choices":[{},{}]}"#, "choices[1]", 1),
            (Chat, r#"{"choices":[{"index":null}]}"#, "", 0),
            (Chat, r#"{"choices":[]}"#, "", 0),
            (Chat, r#"{"choices":null,"usage":{}}"#, "", 0),
            (
                Gemini,
                r#"{"candidates":[{},{"index":1}]}"#,
                "candidates[1]",
                1,
            ),
            (Messages, r#"{"choices":[{},{}]}"#, "", 0),
        ] {
            let limits = JsonLimits::default();
            let document = JsonDocument::parse(body.as_bytes().to_vec().into(), &limits).unwrap();
            let mut ledger = Ledger::default();
            note_further_choices(format, document.root(), &mut ledger);
            let entries = ledger.entries().iter();
            let seen: Vec<_> = entries
                .map(|entry| (entry.path.as_str(), entry.count))
                .collect();
            let expected: Vec<_> = (count > 0).then_some((path, count)).into_iter().collect();
            assert_eq!(seen, expected, "{body}");
        }
    }
}
