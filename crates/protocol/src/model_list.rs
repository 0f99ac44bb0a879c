//! The answers to GET /v1/models, in the shape of each protocol.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde::Serialize;

use super::Protocol;
use super::date::rfc3339;

/// A model that a caller may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    /// For people; the id where there is none.
    pub display_name: Option<String>,
    pub owned_by: String,
    /// Seconds since 1970.
    pub created: u64,
}

/// Which part of a list of the messages protocol is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// From 1 to 1000.
    pub limit: usize,
    /// Only what follows this id.
    pub after_id: Option<String>,
    /// Only what comes before this id.
    pub before_id: Option<String>,
}

/// Models in the order given. Only lists of the messages protocol have pages.
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
    /// Reads `limit`, `after_id` and `before_id`; ignores all else, and a limit out of range.
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
                "after_id" => page.after_id = Some(percent_decoded(value)),
                "before_id" => page.before_id = Some(percent_decoded(value)),
                _ => {}
            }
        }
        page
    }

    /// The wanted part, and whether there is more beyond it in the direction of reading.
    ///
    /// An id that is not in the list begins nothing: the part is empty.
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
            // Reading backwards, the nearest are wanted.
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

/// Undoes `%XX`; what is no such escape stays as it is.
fn percent_decoded(value: &str) -> String {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                decoded.push(high << 4 | low);
                rest = &rest[3..];
            }
            None => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

fn json(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body)
        .expect("model lists are plain structs of strings and numbers")
        .into()
}
