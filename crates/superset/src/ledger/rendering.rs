//! A ledger as the value of a header, as text for logs, and as JSON.

use super::{FieldOutcome, Ledger, LedgerEntry};
use crate::json_writer::JsonWriter;
use crate::member_path::path_without_indexes;
use crate::protocol_pair::ProtocolPair;

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
        let mut header = pair.to_string();
        let mut left_out = self.unnamed;
        for (name, outcomes) in LISTS {
            let fields = self.fields(outcomes, |entry| path_without_indexes(&entry.path));
            let mut separator = match fields.is_empty() {
                true => continue,
                false => format!("; {name}="),
            };
            for field in fields {
                // The count of what is left out has room in any case.
                if header.len() + separator.len() + field.len() > HEADER_BYTES_MAX - 32 {
                    left_out += 1;
                    continue;
                }
                header.push_str(&separator);
                header.push_str(&field);
                separator = ",".into();
            }
        }
        if left_out > 0 {
            header.push_str(&format!("; more={left_out}"));
        }
        header
    }

    /// What was lost, with the number of fields of each kind: `dropped=messages[].name*3,seed`. It has no caller's text.
    pub fn log_text(&self) -> String {
        let lists = LISTS.iter().filter_map(|(name, outcomes)| {
            let fields = self.fields(outcomes, |entry| {
                let path = path_without_indexes(&entry.path);
                match entry.count {
                    1 => path,
                    count => format!("{path}*{count}"),
                }
            });
            (!fields.is_empty()).then(|| format!("{name}={}", fields.join(",")))
        });
        let more = (self.unnamed > 0).then(|| format!("more={}", self.unnamed));
        lists.chain(more).collect::<Vec<_>>().join("; ")
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

    /// Fields of these outcomes, without repetition.
    fn fields(
        &self,
        outcomes: &[FieldOutcome],
        describe: impl Fn(&LedgerEntry) -> String,
    ) -> Vec<String> {
        let mut fields = Vec::new();
        let entries = self.entries.iter();
        for entry in entries.filter(|entry| outcomes.contains(&entry.outcome)) {
            let field = describe(entry);
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
