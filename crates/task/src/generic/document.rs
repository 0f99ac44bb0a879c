//! The create in the generic shape as a document, for expressions: with a type and role for every medium.

use super::{GenericField, GenericVideoRequest, MediaRole};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use serde_json::{Map, Value, json};

impl GenericVideoRequest<'_> {
    /// The fields of the create, or their defaults, and type and role of each medium without its URL, with the id of
    /// one that is uploaded.
    pub(crate) fn document<'d>(
        &self,
        channel_model: &str,
        default: impl Fn(GenericField) -> Option<&'d Value>,
        upload_id: impl Fn(usize, MediaRole) -> Option<Value>,
    ) -> JsonDocument {
        let mut members = Map::new();
        members.insert("model".into(), json!(self.model));
        members.insert("channel_model".into(), json!(channel_model));
        for field in GenericField::ALL {
            let mut given = self.fields.iter();
            let given = given.find(|(given, _)| *given == field);
            let value = match given {
                Some((_, fragment)) => fragment.value(),
                None => default(field).cloned(),
            };
            members.extend(value.map(|value| (field.name().to_owned(), value)));
        }
        let medias = self.medias.iter().enumerate();
        let medias = medias.map(|(index, media)| {
            let mut medium = json!({"type": media.kind.type_name(), "role": media.kind.name()});
            if let Some(id) = upload_id(index, media.kind) {
                medium["id"] = id;
            }
            medium
        });
        members.insert("medias".into(), medias.collect());
        let text = Value::Object(members).to_string();
        let document = JsonDocument::parse(text.into(), &JsonLimits::default());
        document.expect("serde_json writes JSON, no deeper than the request")
    }
}
