//! Edits of JSON by pointer, as the settings of filters list them.

use super::computed_value::{ComputedJson, latest_phase, pointer_to};
use headgate_core::filter::descriptor::InvalidSettings;
use headgate_core::filter::expression::{ExchangeValues, FilterExpression};
use headgate_expression::{EvaluationError, EvaluationPhase};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::JsonDocument;
use headgate_protocol::json::edit::JsonEdits;
use headgate_protocol::json::pointer::JsonPointer;
use headgate_protocol::json::pointer_edit::{PointerEdit, PointerEditError, PointerEditErrorKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Edits as written. They apply in the order of these fields; those of one field in the order of their pointers.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EditListConfig {
    /// New keys of members, by their pointers. A member stays if its object has a member with the new key.
    pub rename: BTreeMap<String, String>,
    /// Pointers to members and elements that are removed.
    pub remove: Vec<String>,
    /// Values that are set, by their pointers. Any part of a value may be `{cel: …}`. Missing objects on the way are
    /// created.
    pub set: BTreeMap<String, Value>,
    /// As `set`, but only where there is no value; `null` is a value.
    pub default: BTreeMap<String, Value>,
    /// Elements that are added before all others of an array, by the pointer of the array, which is created if there is
    /// none.
    pub prepend: BTreeMap<String, Value>,
    /// As `prepend`, but after all others.
    pub append: BTreeMap<String, Value>,
}

/// Edits in the order in which they apply.
pub struct EditList(Vec<ConfiguredEdit>);

struct ConfiguredEdit {
    pointer: JsonPointer,
    change: ConfiguredChange,
}

enum ConfiguredChange {
    Rename(String),
    Remove,
    Set(ComputedJson),
    Default(ComputedJson),
    Prepend(ComputedJson),
    Append(ComputedJson),
}

/// The change that sets or adds a value.
type ChangeOfValue = fn(ComputedJson) -> ConfiguredChange;

/// Why edits could not be applied.
pub enum EditFailure {
    /// A value cannot be computed; with the pointer of its edit.
    Computation(String, EvaluationError),
    /// A value of the document is in the way of an edit.
    Unsuitable(ConflictingDocumentValue),
}

/// A value of a document that is in the way of an edit.
pub struct ConflictingDocumentValue {
    /// Where it is, such as `messages[0].content`; empty for the document itself.
    pub path: String,
    /// What is wrong with it, as the end of a sentence.
    pub message: String,
}

impl EditListConfig {
    /// Builds the edits; their expressions may use the names that are known in the phase `available`.
    ///
    /// # Errors
    /// A pointer or an expression is invalid; with a pointer into the settings.
    pub fn build(&self, available: EvaluationPhase) -> Result<EditList, InvalidSettings> {
        let mut edits = Vec::new();
        for (at, name) in &self.rename {
            let place = format!("/rename{}", pointer_to(at));
            let pointer = parse(at, &place)?;
            edits.push(renamed(pointer, name).map_err(|invalid| invalid.at(place))?);
        }
        for (index, at) in self.remove.iter().enumerate() {
            edits.push(ConfiguredEdit {
                pointer: parse(at, &format!("/remove/{index}"))?,
                change: ConfiguredChange::Remove,
            });
        }
        let with_values: [(&str, &BTreeMap<String, Value>, ChangeOfValue); 4] = [
            ("set", &self.set, ConfiguredChange::Set),
            ("default", &self.default, ConfiguredChange::Default),
            ("prepend", &self.prepend, ConfiguredChange::Prepend),
            ("append", &self.append, ConfiguredChange::Append),
        ];
        for (key, values, change) in with_values {
            for (at, value) in values {
                let place = format!("/{key}{}", pointer_to(at));
                let pointer = parse(at, &place)?;
                let template = ComputedJson::compile(value, available).map_err(|invalid| {
                    let within = format!("{place}{}", invalid.pointer);
                    invalid.at(within)
                })?;
                let change = change(template);
                edits.push(ConfiguredEdit { pointer, change });
            }
        }
        Ok(EditList(edits))
    }
}

impl EditList {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn expressions(&self) -> impl Iterator<Item = &FilterExpression> {
        let templates = self.0.iter().filter_map(|edit| edit.change.template());
        templates.flat_map(ComputedJson::expressions)
    }

    /// The phase that knows all names of the edits' expressions.
    pub fn phase(&self) -> EvaluationPhase {
        latest_phase(self.expressions())
    }

    /// The top-level members that the edits may change, by the pointer that the settings have for each.
    pub fn members(&self) -> impl Iterator<Item = (&str, &JsonPointer)> {
        self.0.iter().flat_map(|edit| {
            let steps = edit.pointer.steps();
            let renamed = match &edit.change {
                ConfiguredChange::Rename(name) if steps.len() == 1 => Some(name.as_str()),
                _ => None,
            };
            let names = steps.first().map(String::as_str).into_iter().chain(renamed);
            names.map(|name| (name, &edit.pointer))
        })
    }

    /// Adds the edits of `document` to `edits`. Expressions see the document as it was before all edits of the list.
    ///
    /// # Errors
    /// A value cannot be computed, or is in the way.
    pub fn apply(
        &self,
        document: &JsonDocument,
        edits: &mut JsonEdits,
        values: ExchangeValues<'_>,
    ) -> Result<(), EditFailure> {
        for edit in &self.0 {
            edit.apply(document, edits, values)?;
        }
        Ok(())
    }

    /// As [`Self::apply`], but leaves out edits that the document has no place for, and returns the first of them.
    ///
    /// # Errors
    /// A value cannot be computed.
    pub fn apply_where_possible(
        &self,
        document: &JsonDocument,
        edits: &mut JsonEdits,
        values: ExchangeValues<'_>,
    ) -> Result<Option<ConflictingDocumentValue>, EditFailure> {
        let mut first = None;
        for edit in &self.0 {
            match edit.apply(document, edits, values) {
                Ok(()) => {}
                Err(EditFailure::Unsuitable(value)) => first = first.or(Some(value)),
                Err(failure) => return Err(failure),
            }
        }
        Ok(first)
    }
}

impl ConfiguredEdit {
    fn apply(
        &self,
        document: &JsonDocument,
        edits: &mut JsonEdits,
        values: ExchangeValues<'_>,
    ) -> Result<(), EditFailure> {
        let computed = |template: &ComputedJson| {
            let failed = |error| EditFailure::Computation(self.pointer.text().to_owned(), error);
            template.json(values).map_err(failed)
        };
        let edit = match &self.change {
            ConfiguredChange::Rename(name) => PointerEdit::Rename(name.clone()),
            ConfiguredChange::Remove => PointerEdit::Remove,
            ConfiguredChange::Set(template) => PointerEdit::Set(computed(template)?),
            // A value that is not needed may be one that cannot be computed.
            ConfiguredChange::Default(_) if edits.has_value_at(document, &self.pointer) => {
                return Ok(());
            }
            ConfiguredChange::Default(template) => PointerEdit::Default(computed(template)?),
            ConfiguredChange::Prepend(template) => PointerEdit::Prepend(computed(template)?),
            ConfiguredChange::Append(template) => PointerEdit::Append(computed(template)?),
        };
        edits
            .edit_at(document, &self.pointer, &edit)
            .map_err(|error| {
                EditFailure::Unsuitable(ConflictingDocumentValue::new(&self.pointer, &error))
            })
    }
}

impl ConfiguredChange {
    fn template(&self) -> Option<&ComputedJson> {
        match self {
            Self::Rename(_) | Self::Remove => None,
            Self::Set(template)
            | Self::Default(template)
            | Self::Prepend(template)
            | Self::Append(template) => Some(template),
        }
    }
}

impl ConflictingDocumentValue {
    fn new(pointer: &JsonPointer, error: &PointerEditError) -> Self {
        let message = match error.reason {
            PointerEditErrorKind::WrongType { expected, received } => {
                format!("must be {expected}, received {received}")
            }
            PointerEditErrorKind::TooShort { elements } => {
                format!("has too few elements, {elements}")
            }
            PointerEditErrorKind::Unreadable => "cannot be edited".to_owned(),
        };
        Self {
            path: pointer.path(error.depth),
            message,
        }
    }

    /// The fault of a request whose body has no place for an edit.
    pub fn into_fault(self) -> Fault {
        let Self { path, message } = self;
        match path.is_empty() {
            true => Fault::new(FaultKind::Invalid, format!("the body {message}")),
            false => Fault::new(FaultKind::Invalid, format!("`{path}` {message}")).param(path),
        }
    }
}

fn parse(text: &str, at: &str) -> Result<JsonPointer, InvalidSettings> {
    JsonPointer::parse(text).map_err(|error| {
        let invalid = InvalidSettings::new(format!("`{text}` {error}")).at(at);
        match text.starts_with('/') {
            true => invalid,
            false => invalid.hint(format!("write `/{text}`")),
        }
    })
}

fn renamed(pointer: JsonPointer, name: &str) -> Result<ConfiguredEdit, InvalidSettings> {
    if name.starts_with('/') {
        let reason = "expected the new key of the member, found a JSON pointer";
        let key = name.rsplit('/').next().unwrap_or_default();
        return Err(InvalidSettings::new(reason).hint(format!("write `{key}`")));
    }
    Ok(ConfiguredEdit {
        pointer,
        change: ConfiguredChange::Rename(name.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn built(config: Value) -> Result<EditList, InvalidSettings> {
        let config: EditListConfig = serde_json::from_value(config).unwrap();
        config.build(EvaluationPhase::Body)
    }

    #[test]
    fn an_invalid_edit_has_its_place() {
        for (config, at) in [
            (json!({"set": {"model": 1}}), "/set/model"),
            (json!({"remove": ["/a", "b"]}), "/remove/1"),
            (json!({"rename": {"/a/b": "/c"}}), "/rename/~1a~1b"),
            (
                json!({"default": {"/a": {"b": {"cel": "no such"}}}}),
                "/default/~1a/b/cel",
            ),
            (json!({"append": {"/a~x": 1}}), "/append/~1a~0x"),
        ] {
            let invalid = built(config.clone()).err();
            assert_eq!(
                invalid.map(|invalid| invalid.pointer).as_deref(),
                Some(at),
                "{config}"
            );
        }
    }

    #[test]
    fn the_members_that_edits_change_are_known() {
        let list = built(json!({"rename": {"/a": "model", "/b/c": "x"}, "remove": ["/d/e"]}));
        let list = list.unwrap_or_else(|invalid| panic!("{}", invalid.reason));
        let names: Vec<&str> = list.members().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "model", "b", "d"]);
    }
}
