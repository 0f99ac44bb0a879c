//! The strings of an event, and which of them are parts of a longer string.

use super::notation_of_delta;
use crate::placeholder::{Piece, PlaceholderTable};
use crate::restore::{self, Notation, as_string};
use json_text::{Edit, Step, Value, ValueKind, apply, decode, walk};
use std::ops::Range;

/// Members of an event that say to which string it belongs.
const INDEXES: [&str; 5] = [
    "index",
    "output_index",
    "content_index",
    "summary_index",
    "item_id",
];
/// Ends of the types of events after which a string has no further deltas.
const LAST_EVENTS: [&str; 7] = [
    "_stop",
    ".done",
    ".completed",
    ".incomplete",
    ".failed",
    "message_delta",
    "error",
];

/// Identifies a string of the response across its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StringId {
    event_type: String,
    /// The path to the string, in which an item of an array has the number of its member `index`.
    path: String,
    indexes: Vec<(&'static str, String)>,
}

impl StringId {
    /// Whether the deltas are those of the arguments of a tool, as the type of the event says.
    pub fn is_of_arguments(&self) -> bool {
        self.event_type.contains("arguments")
    }
}

/// A string of an event.
pub struct EventString<'e> {
    pub path: &'e [Step<'e>],
    pub range: Range<usize>,
    /// The longer string of which it is a part, if it is.
    pub id: Option<StringId>,
}

/// The values of an event's JSON.
pub struct EventValues<'e> {
    json: &'e str,
    values: Vec<(Vec<Step<'e>>, Value)>,
}

impl<'e> EventValues<'e> {
    /// Reads the data of an event; nothing if it is not JSON.
    pub fn read(json: &'e str) -> Option<Self> {
        let mut values = Vec::new();
        walk(json, &mut |path, value| values.push((path.to_vec(), value))).ok()?;
        Some(Self { json, values })
    }

    pub fn strings(&self) -> Vec<EventString<'_>> {
        let strings = self
            .values
            .iter()
            .filter(|(_, value)| value.kind == ValueKind::String);
        let strings = strings.map(|(path, value)| EventString {
            path,
            range: value.range.clone(),
            id: is_delta(path).then(|| self.id(path)),
        });
        strings.collect()
    }

    /// Whether the event says that a string has no further deltas after it.
    pub fn ends(&self, id: &StringId) -> bool {
        let is_finished_choice = |(path, value): &(Vec<Step>, Value)| match path[..] {
            [Step::Key("choices"), item, Step::Key("finish_reason")] => {
                let choice = self.number(&[Step::Key("choices"), item]);
                value.kind == ValueKind::String && id.has_index("choice", &choice)
            }
            _ => false,
        };
        let event_type = self.event_type();
        let is_last = LAST_EVENTS.iter().any(|last| event_type.ends_with(last));
        is_last
            && self
                .indexes()
                .iter()
                .all(|(name, value)| id.has_index(name, value))
            || self.values.iter().any(is_finished_choice)
    }

    /// The JSON with nothing but this delta, before and after the text of its string.
    pub fn template(&self, string: &EventString) -> (String, String) {
        let mut edits = Vec::new();
        for (path, value) in &self.values {
            let is_object =
                value.kind == ValueKind::Object && path.last() == Some(&Step::Key("delta"));
            if is_object && !string.path.starts_with(path) {
                edits.push(Edit {
                    range: value.range.clone(),
                    text: "{}".to_owned(),
                });
            } else if is_object {
                let (head, tail) = self.nested(path, &string.path[path.len()..]);
                edits.push(Edit {
                    range: value.range.clone(),
                    text: format!("{head}\0{tail}"),
                });
            } else if value.range == string.range
                && !string.path[..path.len() - 1].contains(&Step::Key("delta"))
            {
                edits.push(Edit {
                    range: value.range.clone(),
                    text: "\0".to_owned(),
                });
            }
        }
        let json = apply(self.json, &edits);
        let (head, tail) = json
            .split_once('\0')
            .expect("the string is within one of the edits");
        (head.to_owned(), tail.to_owned())
    }

    /// The value at a path with only the members that lead to the string, and those that say what they are.
    fn nested(&self, path: &[Step], below: &[Step]) -> (String, String) {
        let Some((step, rest)) = below.split_first() else {
            return ("\"".to_owned(), "\"".to_owned());
        };
        let deeper = [path, &[*step]].concat();
        let (head, tail) = self.nested(&deeper, rest);
        let Step::Key(key) = step else {
            return (format!("[{head}"), format!("{tail}]"));
        };
        let mut members = String::new();
        for name in ["type", "index"] {
            if let Some(value) = self
                .at(&[path, &[Step::Key(name)]].concat())
                .filter(|_| name != *key)
            {
                let quote = if value.kind == ValueKind::String {
                    "\""
                } else {
                    ""
                };
                let text = &self.json[value.range.clone()];
                members.push_str(&format!("\"{name}\":{quote}{text}{quote},"));
            }
        }
        (format!("{{{members}\"{key}\":{head}"), format!("{tail}}}"))
    }

    fn id(&self, path: &[Step]) -> StringId {
        let mut indexes = self.indexes();
        let mut name = String::new();
        for (depth, step) in path.iter().enumerate() {
            name.push('/');
            match step {
                Step::Key(key) => name.push_str(key),
                Step::Index(_) => {
                    let number = self.number(&path[..=depth]);
                    name.push_str(&number);
                    if path[..depth] == [Step::Key("choices")] {
                        indexes.push(("choice", number));
                    }
                }
            }
        }
        StringId {
            event_type: self.event_type().to_owned(),
            path: name,
            indexes,
        }
    }

    /// The indexes of the event itself.
    fn indexes(&self) -> Vec<(&'static str, String)> {
        let values = INDEXES.iter().filter_map(|name| {
            let value = self.at(&[Step::Key(name)])?;
            Some((*name, self.json[value.range.clone()].to_owned()))
        });
        values.collect()
    }

    /// The number of an item of an array: its member `index`, else its position.
    fn number(&self, item: &[Step]) -> String {
        let index = self.at(&[item, &[Step::Key("index")]].concat());
        match (index, item.last()) {
            (Some(index), _) => self.json[index.range.clone()].to_owned(),
            (None, Some(Step::Index(position))) => position.to_string(),
            (None, _) => String::new(),
        }
    }

    fn event_type(&self) -> &str {
        let value = self.at(&[Step::Key("type")]);
        value.map_or("", |value| &self.json[value.range.clone()])
    }

    fn at(&self, path: &[Step]) -> Option<&Value> {
        let mut values = self.values.iter();
        values
            .find(|(place, _)| place == path)
            .map(|(_, value)| value)
    }
}

impl StringId {
    fn has_index(&self, name: &str, value: &str) -> bool {
        let mut same = self.indexes.iter().filter(|(known, _)| *known == name);
        match name {
            "choice" => same.any(|(_, known)| known == value),
            _ => same.all(|(_, known)| known == value),
        }
    }
}

/// Whether a string of the JSON may have a placeholder or the start of one. Most events have none, and are not read
/// further.
pub fn may_have_placeholder(json: &str) -> bool {
    let mut may_have = false;
    let walked = walk(json, &mut |_, value| {
        may_have |=
            value.kind == ValueKind::String && restore::may_have_placeholder(&json[value.range]);
    });
    may_have && walked.is_ok()
}

/// A delta with its placeholders restored.
pub struct EditedDelta {
    pub edits: Vec<Edit>,
    /// The end of the text that may be the start of a placeholder.
    pub rest: Option<String>,
}

/// Restores the placeholders of a delta, with the text that was held before it.
pub fn restore_delta(
    table: &PlaceholderTable,
    json: &str,
    string: &EventString,
    before: &str,
    may_hold: bool,
) -> EditedDelta {
    let decoded = decode(&json[string.range.clone()]);
    let text = format!("{before}{}", decoded.text);
    let notation = string
        .id
        .as_ref()
        .map_or(Notation::Text, |id| notation_of_delta(id, string));
    // The place in the JSON of a place in the text; the held text is before the string.
    let place = |at: usize| {
        let within = at.saturating_sub(before.len());
        string.range.start + decoded.place(0..within).end
    };
    let mut edits = Vec::new();
    let keep = |from: usize, to: usize, edits: &mut Vec<Edit>| {
        let held = &before[from.min(before.len())..to.min(before.len())];
        if !held.is_empty() {
            let text = as_string(held, Notation::Text);
            edits.push(Edit {
                range: place(0)..place(0),
                text,
            });
        }
    };
    let mut at = 0;
    let mut rest = None;
    for piece in table.find(&text) {
        let (start, end, replacement) = match piece {
            Piece::Placeholder { start, end, data } => (start, end, as_string(data, notation)),
            Piece::Begun { start } if may_hold => (start, text.len(), String::new()),
            Piece::Begun { .. } => continue,
        };
        if matches!(piece, Piece::Begun { .. }) {
            rest = Some(text[start..].to_owned());
        }
        keep(at, start, &mut edits);
        edits.push(Edit {
            range: place(start)..place(end),
            text: replacement,
        });
        at = end;
    }
    keep(at, text.len(), &mut edits);
    EditedDelta { edits, rest }
}

/// Whether a string is a part of a longer one: it is in a member `delta`, or the text of a completion's choice.
fn is_delta(path: &[Step]) -> bool {
    let in_choice = |path: &[Step]| {
        matches!(
            path,
            [Step::Key("choices"), Step::Index(_), Step::Key("text")]
        )
    };
    path.contains(&Step::Key("delta")) || in_choice(path)
}
