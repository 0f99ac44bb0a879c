//! A ledger as the value of a header, as text for logs, and as JSON.

use super::{FieldOutcome, Ledger, LedgerEntry};
use crate::json_writer::JsonWriter;
use crate::member_path::path_without_indexes;
use crate::protocol_pair::ProtocolPair;
use std::borrow::Cow;

/// Bytes of a header's value.
const HEADER_BYTES_MAX: usize = 1024;

/// What a header and a log name what becomes of fields, and what that is.
const LISTS: [(&str, &[FieldOutcome]); 3] = [
    ("refused", &[FieldOutcome::AlwaysRefused]),
    // A request with a refusal is sent only where the route drops what is refused.
    ("dropped", &[FieldOutcome::Dropped, FieldOutcome::Refused]),
    ("approximated", &[FieldOutcome::Approximated]),
];

impl Ledger {
    /// What was lost between two protocols, such as `chat->messages; dropped=seed,user; approximated=stop`.
    ///
    /// It is ASCII, at most 1 KiB, and names fields of all elements of arrays alike.
    pub fn header(&self, pair: ProtocolPair) -> String {
        let mut header = pair.name().to_owned();
        let mut left_out = self.unnamed;
        for (name, outcomes) in LISTS {
            let mut is_first = true;
            for (field, _) in self.fields(outcomes, |_| 1) {
                let start = if is_first { name.len() + 3 } else { 1 };
                // The count of what is left out has room in any case.
                if header.len() + start + field.len() > HEADER_BYTES_MAX - 32 {
                    left_out += 1;
                    continue;
                }
                match is_first {
                    true => header.extend(["; ", name, "="]),
                    false => header.push(','),
                }
                header.push_str(&field);
                is_first = false;
            }
        }
        if left_out > 0 {
            header.push_str(&format!("; more={left_out}"));
        }
        header
    }

    /// What was lost, with the number of fields of each kind: `dropped=messages[].name*3,seed`. It has no caller's text.
    pub fn log_text(&self) -> String {
        let mut text = String::new();
        for (name, outcomes) in LISTS {
            let fields = self.fields(outcomes, |entry| entry.count);
            for (position, (field, count)) in fields.iter().enumerate() {
                match position {
                    0 if text.is_empty() => text.extend([name, "="]),
                    0 => text.extend(["; ", name, "="]),
                    _ => text.push(','),
                }
                text.push_str(field);
                if *count > 1 {
                    text.push_str(&format!("*{count}"));
                }
            }
        }
        if self.unnamed > 0 {
            let separator = if text.is_empty() { "" } else { "; " };
            text.push_str(&format!("{separator}more={}", self.unnamed));
        }
        text
    }

    /// Writes the entries as an array of objects.
    pub fn write_json(&self, json: &mut JsonWriter) {
        json.begin_array();
        for entry in &self.entries {
            json.begin_object();
            json.key("path").plain(&entry.path);
            json.key("outcome").literal(entry.outcome.name());
            json.key("reason").plain(&entry.reason);
            json.key("count").number(entry.count).end_object();
        }
        json.end_array();
    }

    /// Fields of these outcomes with their `count`, without repetition.
    fn fields(
        &self,
        outcomes: &[FieldOutcome],
        count: impl Fn(&LedgerEntry) -> u64,
    ) -> Vec<(Cow<'_, str>, u64)> {
        let mut fields = Vec::new();
        let entries = self.entries.iter();
        for entry in entries.filter(|entry| outcomes.contains(&entry.outcome)) {
            let field = (path_without_indexes(&entry.path), count(entry));
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        fields
    }
}

impl FieldOutcome {
    /// Such as `dropped`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Approximated => "approximated",
            Self::Dropped => "dropped",
            Self::Refused => "refused",
            Self::AlwaysRefused => "always_refused",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_protocol::conversation::{ConversationFormat, ProviderFormat};

    const PAIR: ProtocolPair = ProtocolPair {
        caller: ConversationFormat::Chat,
        channel: ProviderFormat::Messages,
    };

    fn ledger(fields: &[(&str, FieldOutcome)]) -> Ledger {
        let mut ledger = Ledger::default();
        for (path, outcome) in fields {
            ledger.add_path((*path).to_owned(), *outcome, "is \"new\"");
        }
        ledger
    }

    #[test]
    fn a_header_names_what_was_lost() {
        assert_eq!(Ledger::default().header(PAIR), "chat->messages");
        let ledger = ledger(&[
            ("seed", FieldOutcome::Dropped),
            ("messages[0].name", FieldOutcome::Dropped),
            ("messages[17].name", FieldOutcome::Dropped),
            ("logit_bias", FieldOutcome::Refused),
            ("reasoning_effort", FieldOutcome::Approximated),
        ]);
        assert_eq!(
            ledger.header(PAIR),
            "chat->messages; dropped=seed,messages[].name,logit_bias; approximated=reasoning_effort"
        );
    }

    #[test]
    fn a_header_has_no_text_of_a_caller() {
        let ledger = ledger(&[
            ("my secret\r\nset-cookie: a", FieldOutcome::Dropped),
            ("metadata.schlüssel", FieldOutcome::Dropped),
            ("tools[0].parameters.a,b; c=d", FieldOutcome::Dropped),
        ]);
        assert_eq!(
            ledger.header(PAIR),
            "chat->messages; dropped=?,metadata.?,tools[].parameters.?"
        );
    }

    #[test]
    fn a_header_is_bounded_and_counts_the_rest() {
        let mut full = Ledger::default();
        for field in 0..500 {
            full.add_path(
                format!("a_long_name_of_field_{field}"),
                FieldOutcome::Dropped,
                "",
            );
        }
        full.add_path("stop".into(), FieldOutcome::Approximated, "");
        let header = full.header(PAIR);
        assert!(header.len() <= HEADER_BYTES_MAX, "{}", header.len());
        let named = header.matches("a_long_name").count();
        assert!(
            header.ends_with(&format!("; more={}", 501 - named)),
            "{header}"
        );
        assert!(named > 30);
    }

    #[test]
    fn a_log_has_the_number_of_fields_of_a_kind() {
        let mut ledger = ledger(&[("seed", FieldOutcome::Dropped)]);
        for _ in 0..3 {
            let path = || "messages[1].name".into();
            ledger.add_kind(5, FieldOutcome::Approximated, || "".into(), path);
        }
        assert_eq!(
            ledger.log_text(),
            "dropped=seed; approximated=messages[].name*3"
        );
        assert_eq!(Ledger::default().log_text(), "");
    }

    #[test]
    fn entries_are_written_as_json() {
        let mut json = JsonWriter::default();
        ledger(&[("messages[2].name", FieldOutcome::AlwaysRefused)]).write_json(&mut json);
        let written: serde_json::Value = serde_json::from_slice(json.as_bytes()).unwrap();
        let expected = serde_json::json!([{
            "path": "messages[2].name", "outcome": "always_refused", "reason": "is \"new\"", "count": 1,
        }]);
        assert_eq!(written, expected);
    }
}
