//! The models that providers list, for channels that serve models by a pattern: fetched when a caller lists models.

use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::endpoint::ProviderOperationClass;
use headgate_core::catalog::model::Candidate;
use headgate_core::catalog::pattern_models::MODEL_NAME_BYTES_MAX;
use headgate_core::request_id::RequestId;
use headgate_core::state::lock::lock;
use headgate_core::subrequest::{
    Subrequest, SubrequestBody, SubrequestClient, UpstreamRequestIdSlot,
};
use http::{HeaderMap, Method};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a list is used before it is fetched again.
const LIST_TTL: Duration = Duration::from_secs(5 * 60);
/// How long a provider that failed is not requested again.
const RETRY_DELAY: Duration = Duration::from_secs(30);
/// How long a caller waits for the lists of providers.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// Models of one list that are kept.
const MODELS_MAX: usize = 2000;
/// The largest page of Anthropic; OpenAI has no pages.
const PATH: &str = "/models?limit=1000";

/// The last list of each channel, by the channel's fingerprint. It outlives snapshots.
#[derive(Debug, Default)]
pub struct ChannelListings {
    lists: Mutex<HashMap<u64, ChannelListing>>,
}

#[derive(Debug)]
struct ChannelListing {
    names: Arc<[ProviderModel]>,
    /// When it is to be fetched again.
    due: Instant,
}

/// A model as its provider lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderModel {
    pub name: Box<str>,
    /// Whether only this account has it, such as one that it fine-tuned.
    pub is_private: bool,
}

/// The body of `GET /models`, of OpenAI's and Anthropic's form.
#[derive(Deserialize)]
struct ListBody {
    data: Vec<ListEntry>,
}

#[derive(Deserialize)]
struct ListEntry {
    id: String,
    #[serde(default)]
    owned_by: Option<String>,
}

impl ChannelListings {
    /// The models of each channel, in the order of `channels`: none for one whose provider never sent a list. Waits at
    /// most five seconds, and fetches nothing twice within five minutes.
    pub async fn for_channels(
        self: &Arc<Self>,
        channels: Vec<Arc<Channel>>,
        subrequests: &SubrequestClient,
        request_id: &RequestId,
    ) -> Vec<(Arc<Channel>, Arc<[ProviderModel]>)> {
        self.forget_all_but(&channels);
        let mut fetches = Vec::new();
        // Below a base URL with the model in it there is no list.
        let has_list = |channel: &&Arc<Channel>| !channel.origin.base_path.names_model();
        let listing = channels.iter().filter(has_list);
        for channel in listing.filter(|channel| self.begin_fetch(channel)) {
            let sent = subrequests.send(list_request(channel.clone(), request_id.clone()));
            let (listings, channel) = (self.clone(), channel.clone());
            // A task, so that the fetches run at the same time, and one whose caller leaves is not lost.
            fetches.push(tokio::spawn(async move {
                if let Ok(Ok(response)) = timeout(WAIT_MAX, sent).await
                    && response.status.is_success()
                    && let Some(names) = read(&response.body)
                {
                    listings.store(&channel, names);
                }
            }));
        }
        for fetch in fetches {
            // One that panics leaves the last list.
            let _ = fetch.await;
        }
        let lists = lock(&self.lists);
        let of_channel = |channel: Arc<Channel>| {
            let listing = lists.get(&channel.fingerprint)?;
            Some((channel, listing.names.clone()))
        };
        channels.into_iter().filter_map(of_channel).collect()
    }

    /// Whether the list is to be fetched now; others are not to fetch it, too.
    fn begin_fetch(&self, channel: &Channel) -> bool {
        let now = Instant::now();
        let mut lists = lock(&self.lists);
        let listing = lists.entry(channel.fingerprint).or_insert(ChannelListing {
            names: Arc::from([]),
            due: now,
        });
        let is_due = listing.due <= now;
        if is_due {
            listing.due = now + RETRY_DELAY;
        }
        is_due
    }

    fn store(&self, channel: &Channel, names: Arc<[ProviderModel]>) {
        let due = Instant::now() + LIST_TTL;
        let listing = ChannelListing { names, due };
        lock(&self.lists).insert(channel.fingerprint, listing);
    }

    fn forget_all_but(&self, channels: &[Arc<Channel>]) {
        let is_known =
            |fingerprint: &u64| channels.iter().any(|one| one.fingerprint == *fingerprint);
        lock(&self.lists).retain(|fingerprint, _| is_known(fingerprint));
    }
}

fn list_request(channel: Arc<Channel>, id: RequestId) -> Subrequest {
    let candidate = Candidate::bound_to(channel, None);
    Subrequest {
        id,
        candidate: candidate.with_endpoint(ProviderOperationClass::ModelList),
        method: Method::GET,
        path: PATH.to_owned(),
        other_host: None,
        headers: HeaderMap::new(),
        body: SubrequestBody::Whole(bytes::Bytes::new()),
        inline_file: None,
        upstream_request_id: UpstreamRequestIdSlot::default(),
        max_wait: Duration::ZERO,
    }
}

/// `None` if the body is no list of models.
fn read(body: &[u8]) -> Option<Arc<[ProviderModel]>> {
    let ListBody { data } = serde_json::from_slice(body).ok()?;
    let entries = data
        .into_iter()
        .filter(|entry| entry.id.len() <= MODEL_NAME_BYTES_MAX);
    let models = entries.take(MODELS_MAX).map(|entry| ProviderModel {
        is_private: is_private(&entry),
        name: entry.id.into(),
    });
    Some(models.collect())
}

/// Fine-tuned models begin with `ft:`, or have `:ft-` in the older form; what a user or an organization owns is not the
/// provider's (platform.openai.com/docs/api-reference/models).
fn is_private(entry: &ListEntry) -> bool {
    let id = &*entry.id;
    let owner = entry.owned_by.as_deref().unwrap_or_default();
    id.starts_with("ft:")
        || id.contains(":ft-")
        || ["user-", "org-"]
            .iter()
            .any(|owned| owner.starts_with(owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_both_forms_are_read_and_private_models_are_known() {
        let openai = br#"{"object":"list","data":[{"id":"gpt-4o","owned_by":"system"},
            {"id":"ft:gpt-4o:acme::a","owned_by":"acme"},{"id":"mine","owned_by":"user-1"},{"id":"davinci:ft-acme"}]}"#;
        let anthropic =
            br#"{"data":[{"type":"model","id":"claude-x","display_name":"X"}],"has_more":false}"#;
        let names = |body: &[u8]| {
            let models = read(body).unwrap();
            let models = models.iter();
            models
                .map(|one| (one.name.to_string(), one.is_private))
                .collect::<Vec<_>>()
        };
        let expected = [
            ("gpt-4o", false),
            ("ft:gpt-4o:acme::a", true),
            ("mine", true),
            ("davinci:ft-acme", true),
        ];
        assert_eq!(
            names(openai),
            expected.map(|(name, is)| (name.to_owned(), is))
        );
        assert_eq!(names(anthropic), [("claude-x".to_owned(), false)]);
        for body in ["<html>", "[]", "{\"data\":{}}", "{\"data\":[{\"id\":1}]}"] {
            assert_eq!(read(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn a_list_is_bounded() {
        let long = "x".repeat(MODEL_NAME_BYTES_MAX + 1);
        let entries = (0..MODELS_MAX + 5).map(|at| format!("{{\"id\":\"{at}\"}}"));
        let entries = entries.collect::<Vec<_>>().join(",");
        let body = format!("{{\"data\":[{{\"id\":\"{long}\"}},{entries}]}}");
        let models = read(body.as_bytes()).unwrap();
        assert_eq!((models.len(), &*models[0].name), (MODELS_MAX, "0"));
    }
}
