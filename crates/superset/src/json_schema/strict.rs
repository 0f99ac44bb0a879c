//! Which JSON schemas providers can enforce to the letter.

use super::is_text;
use headgate_protocol::json::DocumentNode;

/// Whether all objects of a schema demand all of their properties and allow no other.
pub fn can_be_strict(schema: DocumentNode<'_>) -> bool {
    let [properties, required, additional] =
        schema.get_each(["properties", "required", "additionalProperties"]);
    let is_object = properties.is_some()
        || schema
            .get("type")
            .is_some_and(|kind| is_text(kind, "object"));
    let is_closed = additional.and_then(DocumentNode::as_bool) == Some(false);
    let properties_len = properties.map_or(0, DocumentNode::len);
    let is_complete = required.map_or(0, DocumentNode::len) >= properties_len;
    if is_object && !(is_closed && is_complete) {
        return false;
    }
    let mut below = schema.values().chain(schema.elements());
    below.all(can_be_strict)
}
