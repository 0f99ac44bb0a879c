//! Responses to GET /v1/models, in the format of each protocol.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde::Serialize;

use super::Protocol;
use super::date::rfc3339;
use super::percent_encoding::decoded;

/// A model that a caller may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    /// The display name; clients show the id if it is `None`.
    pub display_name: Option<String>,
    pub owned_by: String,
    /// Unix seconds.
    pub created: u64,
}

/// The page of a list in the messages protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// The page size, from 1 to 1000.
    pub limit: usize,
    /// Only models after this id.
    pub after_id: Option<String>,
    /// Only models before this id.
    pub before_id: Option<String>,
}

/// A list of models in the given order. Only lists of the messages protocol have pages.
pub fn list(protocol: Option<Protocol>, entries: &[ListedModel], page: &PageQuery) -> Bytes {
    match protocol {
        Some(Protocol::Messages) => messages_list(entries, page),
        _ => json(&ChatModelListJson {
            object: "list",
            data: entries.iter().map(ChatModelJson::new).collect(),
        }),
    }
}

/// One model.
pub fn item(protocol: Option<Protocol>, entry: &ListedModel) -> Bytes {
    match protocol {
        Some(Protocol::Messages) => json(&MessagesModelJson::new(entry)),
        _ => json(&ChatModelJson::new(entry)),
    }
}

impl PageQuery {
    /// Parses `limit`, `after_id` and `before_id`; ignores other parameters, and a limit that is out of range.
    pub fn from_query(query: &str) -> Self {
        let mut page = Self::default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match name {
                "limit" => {
                    let limit = value
                        .parse()
                        .ok()
                        .filter(|limit| (1..=1000).contains(limit));
                    page.limit = limit.unwrap_or(page.limit);
                }
                "after_id" => page.after_id = Some(decoded(value).into_owned()),
                "before_id" => page.before_id = Some(decoded(value).into_owned()),
                _ => {}
            }
        }
        page
    }

    /// The page of `entries`, and whether there are more entries in the direction of paging.
    ///
    /// With an id that is not in the list, the page is empty.
    fn of<'a>(&self, entries: &'a [ListedModel]) -> (&'a [ListedModel], bool) {
        let place = |id: &String| entries.iter().position(|entry| entry.id == *id);
        let start = self
            .after_id
            .as_ref()
            .map_or(Some(0), |id| Some(place(id)? + 1));
        let end = self.before_id.as_ref().map_or(Some(entries.len()), place);
        let (Some(start), Some(end)) = (start, end) else {
            return (&[], false);
        };
        let part = entries.get(start..end).unwrap_or_default();
        let has_more = part.len() > self.limit;
        let part = match self.before_id {
            // With `before_id` the page has the entries closest before the id.
            Some(_) => &part[part.len().saturating_sub(self.limit)..],
            None => &part[..part.len().min(self.limit)],
        };
        (part, has_more)
    }
}

impl Default for PageQuery {
    fn default() -> Self {
        Self {
            limit: 20,
            after_id: None,
            before_id: None,
        }
    }
}

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

fn messages_list(entries: &[ListedModel], page: &PageQuery) -> Bytes {
    let (part, has_more) = page.of(entries);
    json(&MessagesModelListJson {
        data: part.iter().map(MessagesModelJson::new).collect(),
        has_more,
        first_id: part.first().map(|entry| entry.id.as_str()),
        last_id: part.last().map(|entry| entry.id.as_str()),
    })
}

fn json(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body)
        .expect("model lists are plain structs of strings and numbers")
        .into()
}
