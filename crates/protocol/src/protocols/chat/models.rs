//! Model lists of the chat protocol, which the responses, image and video protocols share.

use crate::model_list::{ListedModel, ModelListFormat, json};
use serde::Serialize;

/// Model lists, which have no pages.
pub(in crate::protocols) const MODELS: ModelListFormat = ModelListFormat {
    list: |entries, _| {
        json(&ChatModelListJson {
            object: "list",
            data: entries.iter().map(ChatModelJson::new).collect(),
        })
    },
    item: |entry| json(&ChatModelJson::new(entry)),
};

#[derive(Serialize)]
struct ChatModelJson<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'a str,
}

#[derive(Serialize)]
struct ChatModelListJson<'a> {
    object: &'static str,
    data: Vec<ChatModelJson<'a>>,
}

impl<'a> ChatModelJson<'a> {
    fn new(entry: &'a ListedModel) -> Self {
        Self {
            id: &entry.id,
            object: "model",
            created: entry.created,
            owned_by: &entry.owned_by,
        }
    }
}
