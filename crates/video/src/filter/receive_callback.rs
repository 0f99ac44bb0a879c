//! `receive_callback`: takes callbacks of providers, by the token in their path.

mod verifier;

use crate::callbacks::{
    CallbackRecordStore, CallbackToken, CallbackWorkerQueue, ProviderCallbackOutcome,
    ReceivedCallbackResult,
};
use bytes::Bytes;
use headgate_core::catalog::Catalog;
use headgate_core::catalog::channel::Channel;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterProvision, InvalidSettings,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterAction, FilterDeclaration, HookResult, LocalReply};
use headgate_core::state::calendar::unix_ms;
use headgate_core::task::callback_signature::CallbackSignatureScheme;
use headgate_core::task::family::VideoFamily;
use headgate_core::task::{NO_KEYS_HINT, TaskSettings};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::JsonDocument;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use verifier::{CallbackVerifier, OTHER_TASK, is_verifiable, warn_of_unverified};

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "receive_callback",
    summary: "Takes callbacks of providers by the token in their path, verifies their signatures, and has the task's status queried.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        provides: &[
            FilterProvision::Reply,
            FilterProvision::PathToken,
            FilterProvision::Callbacks,
        ],
        ..FilterChainRules::ALWAYS
    },
    settings: None,
    bare: true,
    build: |_, context| {
        if !(context.has_parameter)(PARAMETER) {
            return Err(
                InvalidSettings::new("the route's path has no parameter for the token")
                    .hint("write `match: POST /_headgate/callback/{token}`"),
            );
        }
        if context.tasks.keys.is_none() {
            return Err(
                InvalidSettings::new("`receive_callback` requires `task_keys`").hint(NO_KEYS_HINT),
            );
        }
        warn_of_unverified(context);
        Ok(Arc::new(ReceiveCallbackFilter {
            tasks: context.tasks.clone(),
            records: CallbackRecordStore::new(context.state.clone()),
            queue: context.features.get(),
            catalog: context.catalog.clone(),
            verifier: CallbackVerifier::new(context),
        }))
    },
};

const PARAMETER: &str = "token";
const STORE_RETRY: Duration = Duration::from_secs(2);
/// Largest callback that is read for its signature or a challenge, in bytes. The content of others is not read.
const BODY_BYTES_MAX: u64 = 1 << 20;
/// Longest challenge that is sent back, in bytes.
const CHALLENGE_BYTES_MAX: usize = 1 << 10;

struct ReceiveCallbackFilter {
    tasks: Arc<TaskSettings>,
    records: CallbackRecordStore,
    queue: Arc<CallbackWorkerQueue>,
    catalog: Arc<Catalog>,
    verifier: CallbackVerifier,
}

/// The sender of a callback, by its token.
struct CallbackSender {
    token: CallbackToken,
    /// `None` if the channel is not configured any more, or makes no videos.
    channel: Option<(Arc<Channel>, Arc<VideoFamily>)>,
}

impl Filter for ReceiveCallbackFilter {
    fn declare(&self) -> FilterDeclaration {
        let mut families = self
            .catalog
            .channels()
            .filter_map(|channel| channel.family.as_ref());
        let reads_body = families.any(|family| {
            family.callback.challenge.is_some() || family.callback.signature.is_some()
        });
        FilterDeclaration {
            replies_always: true,
            reads_body,
            body_limit: reads_body.then_some(BODY_BYTES_MAX),
            ..FilterDeclaration::default()
        }
    }

    /// Replies before the body is read, unless it is signed or may be a challenge: the content of others is not used.
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let Some(sender) = self.sender(request) else {
            self.queue
                .counters()
                .count_received(ReceivedCallbackResult::Unknown);
            return HookResult::fail(unknown());
        };
        let (challenge, scheme) = (sender.challenge_pointer(), sender.scheme());
        match (challenge, scheme) {
            (None, None) => HookResult::later(self.note(sender, None)),
            (Some(_), _) => HookResult::next(),
            (None, Some((channel, scheme))) => {
                let checked = self.verifier.check_head(request, channel, scheme);
                checked.map_or_else(HookResult::fail, |()| HookResult::next())
            }
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        let Some(sender) = self.sender(request) else {
            return HookResult::fail(unknown());
        };
        match sender.challenge(request) {
            Some(challenge) => HookResult::reply(challenge_reply(&challenge)),
            None => HookResult::later(self.receive(request, sender)),
        }
    }
}

impl CallbackSender {
    /// Where callbacks of the channel have a challenge.
    fn challenge_pointer(&self) -> Option<&str> {
        let (_, family) = self.channel.as_ref()?;
        family.callback.challenge.as_deref()
    }

    /// How callbacks of the channel are verified; `None` if they are not, or cannot be without secrets.
    fn scheme(&self) -> Option<(&Channel, &CallbackSignatureScheme)> {
        let (channel, family) = self.channel.as_ref()?;
        let scheme = family.callback.signature.as_ref()?;
        is_verifiable(channel, scheme).then_some((channel, scheme))
    }

    /// The challenge of a callback by which the provider confirms the URL; it says nothing about a task.
    fn challenge(&self, request: &RequestView) -> Option<String> {
        let node = request
            .body
            .document()?
            .root()
            .pointer(self.challenge_pointer()?)?;
        let is_short = node
            .str_len()
            .is_some_and(|length| length <= CHALLENGE_BYTES_MAX);
        let challenge = node.as_str().filter(|_| is_short)?;
        Some(challenge.into_owned())
    }
}

impl ReceiveCallbackFilter {
    fn sender(&self, request: &RequestView) -> Option<CallbackSender> {
        let keys = self.tasks.keys.as_ref()?;
        let token = CallbackToken::open(keys, request.param(PARAMETER)?, unix_ms())?;
        let channel = self.catalog.channel(&token.channel);
        let with_family = |channel: &Arc<Channel>| {
            let family = channel.family.clone()?;
            Some((channel.clone(), family))
        };
        Some(CallbackSender {
            channel: channel.and_then(with_family),
            token,
        })
    }

    async fn receive(
        &self,
        request: &RequestView,
        sender: CallbackSender,
    ) -> Result<FilterAction, Fault> {
        match sender.scheme() {
            None => self.note(sender, None).await,
            Some((channel, scheme)) => {
                self.verifier.verify(request, channel, scheme).await?;
                self.note(sender, Some(request)).await
            }
        }
    }

    /// Has the status of the task queried. A callback that is `verified` must be about this task.
    async fn note(
        &self,
        sender: CallbackSender,
        verified: Option<&RequestView>,
    ) -> Result<FilterAction, Fault> {
        let is_about = |id: &str| match (verified, &sender.channel) {
            (Some(callback), Some((_, family))) => {
                let keys = self.tasks.keys.as_ref();
                let task = keys.and_then(|keys| keys.open(id).ok());
                let root = callback.body.document().map(JsonDocument::root);
                task.is_none_or(|task| family.callback.is_about(root, &task.upstream))
            }
            _ => true,
        };
        let noted = self.records.note_callback(&sender.token, &is_about).await;
        let outcome = noted.map_err(|error| {
            Fault::new(
                FaultKind::Overloaded,
                "the callback could not be stored; send it again",
            )
            .retry_after(STORE_RETRY)
            .source(error)
        })?;
        let counters = self.queue.counters();
        match outcome {
            // The same for forged, expired and used tokens.
            ProviderCallbackOutcome::Unknown => {
                counters.count_received(ReceivedCallbackResult::Unknown);
                Err(unknown())
            }
            ProviderCallbackOutcome::OtherTask => {
                let id = verified.map_or("", |request| &*request.id);
                Err(self.verifier.refuse(id, &sender.token.channel, OTHER_TASK))
            }
            ProviderCallbackOutcome::Noted => {
                counters.count_received(ReceivedCallbackResult::Accepted);
                self.queue.wake();
                Ok(accepted().into())
            }
            ProviderCallbackOutcome::AlreadyNoted | ProviderCallbackOutcome::NoReceiver => {
                counters.count_received(ReceivedCallbackResult::Accepted);
                Ok(accepted().into())
            }
        }
    }
}

fn unknown() -> Fault {
    Fault::new(FaultKind::UnknownId, "unknown callback")
}

fn accepted() -> LocalReply {
    json_reply(Bytes::from_static(b"{}"))
}

fn challenge_reply(challenge: &str) -> LocalReply {
    json_reply(json!({"challenge": challenge}).to_string().into())
}

fn json_reply(body: Bytes) -> LocalReply {
    let json = HeaderValue::from_static("application/json");
    LocalReply {
        status: StatusCode::OK,
        headers: HeaderMap::from_iter([(header::CONTENT_TYPE, json)]),
        body,
    }
}
