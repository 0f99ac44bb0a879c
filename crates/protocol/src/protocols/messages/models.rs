//! Model lists of the messages protocol, which have pages.

use crate::date::rfc3339;
use crate::model_list::{ListedModel, ModelListFormat, PageQuery, json};
use bytes::Bytes;
use serde::Serialize;

/// Model lists.
pub(super) const MODELS: ModelListFormat = ModelListFormat {
    list,
    item: |entry| json(&MessagesModelJson::new(entry)),
};

#[derive(Serialize)]
struct MessagesModelJson<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    display_name: &'a str,
    created_at: String,
}

#[derive(Serialize)]
struct MessagesModelListJson<'a> {
    data: Vec<MessagesModelJson<'a>>,
    has_more: bool,
    first_id: Option<&'a str>,
    last_id: Option<&'a str>,
}

impl<'a> MessagesModelJson<'a> {
    fn new(entry: &'a ListedModel) -> Self {
        Self {
            kind: "model",
            id: &entry.id,
            display_name: entry.display_name.as_deref().unwrap_or(&entry.id),
            created_at: rfc3339(entry.created),
        }
    }
}

fn list(entries: &[ListedModel], page: &PageQuery) -> Bytes {
    let (part, has_more) = page.select(entries);
    json(&MessagesModelListJson {
        data: part.iter().map(MessagesModelJson::new).collect(),
        has_more,
        first_id: part.first().map(|entry| entry.id.as_str()),
        last_id: part.last().map(|entry| entry.id.as_str()),
    })
}
