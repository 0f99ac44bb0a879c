//! Asks providers for the batches whose end no caller has seen, so that each is settled.
//!
//! Gateways with one state share the work: the one that postpones a due batch asks for it, and another one only when it is
//! due again. A batch whose usage stays unknown is settled at its estimate before its record expires.

#[cfg(test)]
mod tests;

use crate::batch_record::{BatchRecord, BatchRecords, DueBatch, StoredBatch, find_due};
use crate::batch_usage::BatchUsage;
use crate::claimed_owner::ClaimedBatchOwner;
use crate::settlement::{EndedBatch, UsageSettler};
use headgate_core::catalog::caller::{Caller, Callers};
use headgate_core::catalog::channel::{Channel, TimeoutOverrides};
use headgate_core::catalog::model::Candidate;
use headgate_core::feature::background::{BackgroundContext, BackgroundSnapshot};
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_core::subrequest::{Subrequest, SubrequestClient};
use headgate_protocol::batch::{BatchFormat, BatchObject};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use headgate_protocol::{ChannelProtocol, Protocol, header_policy};
use http::{HeaderMap, HeaderValue, Method};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How often the store is searched for due batches.
const SEARCH_INTERVAL: Duration = Duration::from_secs(5);
/// How many batches are asked for at once.
const AT_ONCE: usize = 16;
/// How long a batch is left to the gateway that asks for it: longer than it may take.
const LEASE_MS: u64 = 60_000;
/// How long a request waits while the channel is at its limits.
const CHANNEL_MAX_WAIT: Duration = Duration::from_secs(10);
const TIMEOUTS: TimeoutOverrides = TimeoutOverrides {
    connect: Some(Duration::from_secs(5)),
    first_byte: Some(Duration::from_secs(15)),
    idle: Some(Duration::from_secs(10)),
    total: Some(Duration::from_secs(25)),
};

/// What the provider reports of a batch.
#[derive(Debug)]
enum PolledBatch {
    /// It has not ended, or nothing is known.
    Unfinished,
    Ended(BatchUsage),
    /// It has ended, and only its results have its usage.
    EndedWithResults,
}

/// Works until the future is dropped. What it does then is due again.
pub(crate) async fn run(context: BackgroundContext) {
    let subrequests = SubrequestClient::new(context.subrequests.clone(), TIMEOUTS);
    let mut is_reachable = true;
    loop {
        let found = {
            // A poller that outlives its search keeps channels alive that the configuration no longer has.
            let poller = BatchPoller::new(&subrequests, &(context.current)(), &context.state);
            poller.poll_due(unix_ms()).await
        };
        match &found {
            Err(error) if is_reachable => {
                tracing::warn!(%error, "cannot look for batches that nobody has settled");
            }
            _ => {}
        }
        is_reachable = found.is_ok();
        if found.unwrap_or(0) < AT_ONCE {
            sleep(SEARCH_INTERVAL).await;
        }
    }
}

/// Asks for batches, with the configuration in use.
struct BatchPoller {
    subrequests: SubrequestClient,
    callers: Arc<Callers>,
    settler: UsageSettler,
}

impl BatchPoller {
    fn new(
        subrequests: &SubrequestClient,
        snapshot: &BackgroundSnapshot,
        state: &Arc<dyn StateStore>,
    ) -> Arc<Self> {
        Arc::new(Self {
            subrequests: subrequests.clone(),
            settler: UsageSettler {
                state: state.clone(),
                catalog: snapshot.catalog.clone(),
                counters: snapshot.features.get(),
                levels: snapshot.features.get(),
            },
            callers: snapshot.callers.clone(),
        })
    }

    /// Asks for the batches that are due, and waits until that is done. Returns how many there were.
    async fn poll_due(self: &Arc<Self>, now_ms: u64) -> Result<usize, StoreUnavailable> {
        let due = find_due(&*self.settler.state, now_ms, AT_ONCE).await?;
        let found = due.len();
        let mut polls = JoinSet::new();
        for DueBatch { caller, batch } in due {
            let poller = self.clone();
            polls.spawn(async move {
                if let Err(error) = poller.poll(&caller, &batch, now_ms).await {
                    tracing::warn!(batch = batch.id, %error, "cannot settle the usage of a batch");
                }
            });
        }
        while polls.join_next().await.is_some() {}
        Ok(found)
    }

    async fn poll(
        &self,
        owner: &Arc<str>,
        due: &StoredBatch,
        now_ms: u64,
    ) -> Result<(), StoreUnavailable> {
        let records = BatchRecords {
            state: &*self.settler.state,
            caller: owner,
        };
        let Some(leased) = records.postpone(due, now_ms + LEASE_MS).await? else {
            return Ok(());
        };
        let channel = self.settler.catalog.channel(&leased.record.channel);
        let polled = match channel {
            Some(channel) => self.ask(channel, &leased).await,
            None => PolledBatch::Unfinished,
        };
        let used = match polled {
            PolledBatch::Ended(used) => used,
            _ if now_ms >= leased.last_poll_ms() => BatchUsage::UNKNOWN,
            PolledBatch::Unfinished => {
                let next_ms = leased.next_poll_ms(now_ms);
                return records.postpone(&leased, next_ms).await.map(drop);
            }
            PolledBatch::EndedWithResults => {
                let last_ms = leased.last_poll_ms();
                return records.postpone(&leased, last_ms).await.map(drop);
            }
        };
        let claimed = leased.record.claimed.as_ref();
        let caller = self.find_owner(owner, claimed);
        let label = claimed.map(|claimed| claimed.label.as_str().into());
        let ended = EndedBatch {
            stored: &leased,
            owner,
            caller: caller.as_deref(),
            channel,
        };
        if let Some(settled) = self.settler.settle_once(ended, used, None).await? {
            let names = (owner, label.as_ref().unwrap_or(owner));
            for used in &settled.usages {
                let counters = &self.settler.counters;
                counters.add_usage(&self.settler.catalog, names, used);
            }
        }
        Ok(())
    }

    /// The caller whom a batch counts for: of the configuration, or one whose name a token has claimed.
    fn find_owner(
        &self,
        owner: &Arc<str>,
        claimed: Option<&ClaimedBatchOwner>,
    ) -> Option<Arc<Caller>> {
        match claimed {
            None => self.callers.by_name(Some(owner)),
            Some(claimed) => claimed.build(owner, &self.callers),
        }
    }

    /// Asks for a batch once.
    async fn ask(&self, channel: &Arc<Channel>, batch: &StoredBatch) -> PolledBatch {
        let Some((protocol, format, path)) = find_api(channel, &batch.record) else {
            return PolledBatch::Unfinished;
        };
        let mut headers = header_policy::request_headers_for_provider(&HeaderMap::new());
        if let Some((name, version)) = &protocol.descriptor().headers.version {
            headers.insert(name, HeaderValue::from_static(version));
        }
        let protocol = ChannelProtocol::for_caller(protocol);
        let response = self.subrequests.send(Subrequest {
            id: batch.id.as_str().into(),
            candidate: Candidate::bound_to(channel.clone(), Some(protocol)),
            method: Method::GET,
            path,
            other_host: None,
            headers,
            body: bytes::Bytes::new().into(),
            inline_file: None,
            upstream_request_id: Arc::default(),
            max_wait: CHANNEL_MAX_WAIT,
        });
        match response.await {
            Ok(response) if response.status.is_success() => {
                match JsonDocument::parse(response.body, &JsonLimits::default()) {
                    Ok(document) => read(&document, format, batch),
                    Err(_) => PolledBatch::Unfinished,
                }
            }
            _ => PolledBatch::Unfinished,
        }
    }
}

/// The channel's protocol for batches, and the path of this one; `None` if the channel has it no more, or the id is not plain.
fn find_api(channel: &Channel, record: &BatchRecord) -> Option<(Protocol, BatchFormat, String)> {
    let mut protocols = channel.protocols.iter().copied();
    let protocol = protocols.find(|protocol| protocol.descriptor().path == record.api)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if record.id.is_empty() || !record.id.bytes().all(is_plain) {
        return None;
    }
    let path = header_policy::path_for_provider(&record.api);
    let format = protocol.descriptor().batch?;
    Some((protocol, format, format!("{path}/{}", record.id)))
}

fn read(document: &JsonDocument, format: BatchFormat, stored: &StoredBatch) -> PolledBatch {
    let all = BatchObject::find_all(document.root(), format);
    let batch = all
        .iter()
        .find(|batch| batch.id().as_deref() == Some(&*stored.id));
    match batch.filter(|batch| batch.has_ended()) {
        None => PolledBatch::Unfinished,
        Some(batch) => match batch.usage() {
            Some(usage) => PolledBatch::Ended(BatchUsage::from_total(usage, &stored.record)),
            None if batch.has_no_response() => PolledBatch::Ended(BatchUsage::NOTHING),
            None => PolledBatch::EndedWithResults,
        },
    }
}
