//! Responses to GET /v1/models, in the format of each protocol.

mod codex;
#[cfg(test)]
mod tests;

pub use codex::{codex_list, is_for_codex};

use bytes::Bytes;
use serde::Serialize;

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

/// How a protocol lists models.
#[derive(Clone, Copy, Debug)]
pub struct ModelListFormat {
    /// The body of a list of models in the given order. Only lists of the messages protocol have pages.
    pub list: fn(&[ListedModel], &PageQuery) -> Bytes,
    /// The body of one model.
    pub item: fn(&ListedModel) -> Bytes,
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
    pub(crate) fn select<'a>(&self, entries: &'a [ListedModel]) -> (&'a [ListedModel], bool) {
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

/// The JSON of a model list.
pub(crate) fn json(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body)
        .expect("model lists are plain structs of strings and numbers")
        .into()
}
