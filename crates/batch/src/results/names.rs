//! The platform's names for the models that the provider names in the results of a batch.

use crate::batch_record::{BatchRecord, RecordedModel};
use bytes::Bytes;
use headgate_protocol::json::quoted;

/// The end of a name that stands for the latest version of a model.
const LATEST: &str = "-latest";

/// The platform's names for the models of a batch.
pub struct PlatformModelNames(Vec<PlatformModelName>);

struct PlatformModelName {
    /// The name in the requests that the provider got.
    channel_name: String,
    /// The platform's name as a JSON string.
    json: Bytes,
}

impl PlatformModelNames {
    pub fn new(record: &BatchRecord) -> Self {
        let models = record.models.iter();
        let names = models.map(|model: &RecordedModel| PlatformModelName {
            channel_name: model.channel_name.clone(),
            json: quoted(&model.name),
        });
        Self(names.collect())
    }

    /// The index of the model that a provider names so: its only one, or the one that was requested by this name, or by one
    /// that it makes longer, such as by a date.
    pub fn find(&self, name: &str) -> Option<usize> {
        if self.0.len() == 1 {
            return Some(0);
        }
        let names = self.0.iter().enumerate();
        let matching = names.filter(|(_, model)| matches_name(name, &model.channel_name));
        let longest = matching.max_by_key(|(_, model)| base_name(&model.channel_name).len());
        longest.map(|(index, _)| index)
    }

    /// The name of a model as a JSON string.
    pub fn json(&self, index: usize) -> &Bytes {
        &self.0[index].json
    }
}

/// The part of a requested name that the names of its versions begin with.
fn base_name(requested: &str) -> &str {
    requested.strip_suffix(LATEST).unwrap_or(requested)
}

/// Whether a provider may name the model so that was requested by another name.
fn matches_name(name: &str, requested: &str) -> bool {
    let base = base_name(requested);
    let rest = match base.is_empty() {
        true => None,
        false => name.strip_prefix(base),
    };
    name == requested
        || rest.is_some_and(|rest| {
            let next = rest.bytes().next();
            next.is_none_or(|next| !next.is_ascii_alphanumeric())
        })
}
