//! Verifies the signatures of callbacks, with secrets of the channel or with keys that the provider publishes.

use crate::callbacks::published_keys::{KeyFetcher, PublishedKeyCache};
use crate::callbacks::refusal_log::RefusalLog;
use crate::callbacks::{CallbackWorkerQueue, ReceivedCallbackResult};
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::filter::descriptor::{BuildContext, InvalidSettings};
use headgate_core::filter::view::RequestView;
use headgate_core::state::calendar::unix_ms;
use headgate_core::task::callback_signature::{
    CallbackKeySource, CallbackSignatureScheme, InvalidCallbackSignature,
};
use headgate_protocol::fault::{Fault, FaultKind};
use std::sync::Arc;
use std::time::Duration;

/// Why a callback with a valid signature is refused.
pub const OTHER_TASK: &str = "it is about another task";
/// When a provider may send a callback again that could not be verified.
const KEYS_RETRY: Duration = Duration::from_secs(30);

/// Verifies callbacks, and counts and logs those that it refuses.
pub struct CallbackVerifier {
    queue: Arc<CallbackWorkerQueue>,
    published_keys: Arc<PublishedKeyCache>,
    egress: Arc<EgressPolicy>,
    log: Arc<RefusalLog>,
}

/// Whether callbacks of a channel can be verified: those with shared secrets only if the channel has any.
pub fn is_verifiable(channel: &Channel, scheme: &CallbackSignatureScheme) -> bool {
    match scheme.keys {
        CallbackKeySource::Published(_) => true,
        CallbackKeySource::Secrets(_) => !channel.callback_keys.is_empty(),
    }
}

/// Warns of channels whose callbacks could be verified with secrets.
pub fn warn_of_unverified(context: &BuildContext<'_>) {
    let unverified = |channel: &&Arc<Channel>| {
        let family = channel.family.as_ref();
        let scheme = family.and_then(|family| family.callback.signature.as_ref());
        scheme.is_some_and(|scheme| !is_verifiable(channel, scheme))
    };
    for channel in context.catalog.channels().filter(unverified) {
        let warning = InvalidSettings::new(format!(
            "callbacks of channel `{}` are not verified: each is a reason to query the task",
            channel.name
        ));
        context.warn(warning.hint(
            "set `callback_secrets` of the channel to the signing secret of the provider's account",
        ));
    }
}

impl CallbackVerifier {
    pub fn new(context: &BuildContext<'_>) -> Self {
        Self {
            queue: context.features.get(),
            published_keys: context.features.get(),
            egress: context.egress.clone(),
            log: context.features.get(),
        }
    }

    /// # Errors
    /// The head shows that the callback cannot be verified.
    pub fn check_head(
        &self,
        request: &RequestView,
        channel: &Channel,
        scheme: &CallbackSignatureScheme,
    ) -> Result<(), Fault> {
        let checked = scheme.check_head(&request.headers, unix_ms() / 1_000);
        checked.map_err(|invalid| self.refuse_invalid(request, channel, &invalid))
    }

    /// # Errors
    /// The callback has no valid signature, or the keys of the provider are not available.
    pub async fn verify(
        &self,
        request: &RequestView,
        channel: &Channel,
        scheme: &CallbackSignatureScheme,
    ) -> Result<(), Fault> {
        let body = request.body.bytes().map_or(&[][..], |body| body);
        let signed = (&request.headers, body);
        let now = unix_ms() / 1_000;
        let verified = match &scheme.keys {
            CallbackKeySource::Secrets(_) => scheme.verify(signed, &channel.callback_keys, now),
            CallbackKeySource::Published(url) => {
                let fetcher = self.fetcher(request).ok_or_else(|| self.no_keys())?;
                let known = self.published_keys.keys(url, fetcher).await;
                let known = known.map_err(|error| self.no_keys().source(error))?;
                match scheme.verify(signed, &known.keys, now) {
                    Err(InvalidCallbackSignature::Mismatch) => {
                        let newer = self.published_keys.newer(url, fetcher, &known).await;
                        let newer = newer.ok_or(InvalidCallbackSignature::Mismatch);
                        newer.and_then(|newer| scheme.verify(signed, &newer.keys, now))
                    }
                    verified => verified,
                }
            }
        };
        verified.map_err(|invalid| self.refuse_invalid(request, channel, &invalid))
    }

    /// The fault of a callback of the channel that is refused, which is counted and logged.
    pub fn refuse(&self, request_id: &str, channel: &str, reason: &str) -> Fault {
        let counters = self.queue.counters();
        counters.count_received(ReceivedCallbackResult::Refused);
        if let Some(refused) = self.log.note(channel) {
            tracing::warn!(
                id = request_id,
                channel,
                reason,
                refused,
                "callback refused"
            );
        }
        Fault::new(
            FaultKind::Forbidden,
            format!("the callback is refused: {reason}"),
        )
    }

    fn refuse_invalid(
        &self,
        request: &RequestView,
        channel: &Channel,
        invalid: &InvalidCallbackSignature,
    ) -> Fault {
        self.refuse(&request.id, &channel.name, &invalid.to_string())
    }

    /// What fetches keys; `None` in a dry run, which sends nothing.
    fn fetcher<'a>(&'a self, request: &'a RequestView) -> Option<KeyFetcher<'a>> {
        Some(KeyFetcher {
            fetch: request.fetch.as_deref()?,
            egress: &self.egress,
        })
    }

    fn no_keys(&self) -> Fault {
        let counters = self.queue.counters();
        counters.count_received(ReceivedCallbackResult::NoKeys);
        Fault::new(
            FaultKind::CheckUnavailable,
            "the callback cannot be verified now; send it again",
        )
        .retry_after(KEYS_RETRY)
    }
}
