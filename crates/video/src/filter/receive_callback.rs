//! `receive_callback`: takes callbacks of providers, by the token in their path.

use crate::callbacks::{
    CallbackRecordStore, CallbackToken, CallbackWorkerQueue, ProviderCallbackOutcome,
};
use bytes::Bytes;
use headgate_core::catalog::model::Catalog;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterProvision, InvalidSettings,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterAction, FilterDeclaration, HookResult, LocalReply};
use headgate_core::state::calendar::unix_ms;
use headgate_core::task::{NO_KEYS_HINT, TaskSettings};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "receive_callback",
    summary: "Takes callbacks of providers by the token in their path, and has the task's status queried; the content of a callback is not used.",
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
        Ok(Arc::new(ReceiveCallbackFilter {
            tasks: context.tasks.clone(),
            records: CallbackRecordStore::new(context.state.clone()),
            queue: context.features.get(),
            catalog: context.catalog.clone(),
        }))
    },
};

const PARAMETER: &str = "token";
const STORE_RETRY: Duration = Duration::from_secs(2);
/// Largest callback that is read for a challenge, in bytes. The content of others is not read.
const BODY_BYTES_MAX: u64 = 1 << 20;
/// Longest challenge that is sent back, in bytes.
const CHALLENGE_BYTES_MAX: usize = 1 << 10;

struct ReceiveCallbackFilter {
    tasks: Arc<TaskSettings>,
    records: CallbackRecordStore,
    queue: Arc<CallbackWorkerQueue>,
    catalog: Arc<Catalog>,
}

impl Filter for ReceiveCallbackFilter {
    fn declare(&self) -> FilterDeclaration {
        let mut families = self
            .catalog
            .channels()
            .filter_map(|channel| channel.family.as_ref());
        let reads_body = families.any(|family| family.callback_challenge.is_some());
        FilterDeclaration {
            replies_always: true,
            reads_body,
            body_limit: reads_body.then_some(BODY_BYTES_MAX),
            ..FilterDeclaration::default()
        }
    }

    /// Replies before the body is read, unless it may be a challenge: the content of others is not used.
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.challenge_pointer(request) {
            Some(_) => HookResult::next(),
            None => HookResult::later(self.receive(request)),
        }
    }

    fn on_body<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.challenge(request) {
            Some(challenge) => HookResult::reply(challenge_reply(&challenge)),
            None => HookResult::later(self.receive(request)),
        }
    }
}

impl ReceiveCallbackFilter {
    fn token(&self, request: &RequestView) -> Option<CallbackToken> {
        CallbackToken::open(
            self.tasks.keys.as_ref()?,
            request.param(PARAMETER)?,
            unix_ms(),
        )
    }

    /// Where callbacks of the token's channel have a challenge, if its family has any.
    fn challenge_pointer(&self, request: &RequestView) -> Option<String> {
        let channel = self.catalog.channel(&self.token(request)?.channel)?;
        channel.family.as_ref()?.callback_challenge.clone()
    }

    /// The challenge of a callback by which the provider confirms the URL; it says nothing about a task.
    fn challenge(&self, request: &RequestView) -> Option<String> {
        let pointer = self.challenge_pointer(request)?;
        let body = request.body.bytes()?.clone();
        let document = JsonDocument::parse(body, &JsonLimits::default()).ok()?;
        let node = document.root().pointer(&pointer)?;
        let is_short = node
            .str_len()
            .is_some_and(|length| length <= CHALLENGE_BYTES_MAX);
        let challenge = node.as_str().filter(|_| is_short)?;
        Some(challenge.into_owned())
    }

    async fn receive(&self, request: &RequestView) -> Result<FilterAction, Fault> {
        let token = self.token(request);
        let acceptance = match &token {
            Some(token) => self.records.note_callback(token).await.map_err(|error| {
                Fault::new(
                    FaultKind::Overloaded,
                    "the callback could not be stored; send it again",
                )
                .retry_after(STORE_RETRY)
                .source(error)
            })?,
            None => ProviderCallbackOutcome::Unknown,
        };
        let is_known = acceptance != ProviderCallbackOutcome::Unknown;
        self.queue.counters().count_received(is_known);
        if acceptance == ProviderCallbackOutcome::Noted {
            self.queue.wake();
        }
        match is_known {
            true => Ok(accepted().into()),
            // The same for forged, expired and used tokens.
            false => Err(Fault::new(FaultKind::UnknownId, "unknown callback")),
        }
    }
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
