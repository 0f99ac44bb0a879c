//! `receive_callback`: takes callbacks of providers, by the token in their path.

use crate::callbacks::{
    CallbackRecordStore, CallbackToken, CallbackWorkerQueue, ProviderCallbackOutcome,
};
use bytes::Bytes;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterProvision, InvalidSettings,
};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterAction, FilterDeclaration, HookResult, LocalReply};
use headgate_core::state::calendar::unix_ms;
use headgate_core::task::{NO_KEYS_HINT, TaskSettings};
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderValue, StatusCode, header};
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
        }))
    },
};

const PARAMETER: &str = "token";
const STORE_RETRY: Duration = Duration::from_secs(2);

struct ReceiveCallbackFilter {
    tasks: Arc<TaskSettings>,
    records: CallbackRecordStore,
    queue: Arc<CallbackWorkerQueue>,
}

impl Filter for ReceiveCallbackFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            replies_always: true,
            ..FilterDeclaration::default()
        }
    }

    /// Replies before the body is read, since its content is not used.
    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        HookResult::later(self.receive(request))
    }
}

impl ReceiveCallbackFilter {
    async fn receive(&self, request: &RequestView) -> Result<FilterAction, Fault> {
        let keys = self.tasks.keys.as_ref();
        let token =
            keys.and_then(|keys| CallbackToken::open(keys, request.param(PARAMETER)?, unix_ms()));
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
    let json = HeaderValue::from_static("application/json");
    LocalReply {
        status: StatusCode::OK,
        headers: HeaderMap::from_iter([(header::CONTENT_TYPE, json)]),
        body: Bytes::from_static(b"{}"),
    }
}
