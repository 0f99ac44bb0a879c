//! The callback URL of a create, and the subscriptions that its attempts store before they are sent.

use super::{CallbackSubscriptionFilter, CallbackUrlMode};
use crate::callbacks::{
    BindResult, CALLBACK_PATH, CallbackToken, CallerStatusFormat, SubscriptionRefusal,
    UnboundSubscription,
};
use headgate_core::catalog::caller::Caller;
use headgate_core::filter::fetch::FetchError;
use headgate_core::filter::view::{AttemptView, RequestView, ResponseView};
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::lock::lock;
use headgate_core::task::family::CallbackTarget;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::quoted;
use headgate_protocol::percent_encoding::decoded;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The member of creates in the generic format, and in that of families which send no callbacks.
const CALLBACK_URL: &str = "callback_url";
/// How long a task may take if its request does not set a time, and the longest that it may set, in seconds.
const EXPIRES_AFTER: u64 = 172_800;
const EXPIRES_AFTER_MAX: u64 = 259_200;
/// How much longer than its task a token works, and a task is polled.
const MARGIN_MS: u64 = 60 * 60 * 1_000;
/// The maximum length of a callback URL, in bytes.
const URL_BYTES_MAX: usize = 2_048;
/// When a request is worth a retry that a failure of the store or of a name server refused.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// Lists the fields of a create that were left out.
const IGNORED: HeaderName = HeaderName::from_static("x-headgate-ignored");

/// Where a create has the caller's URL.
enum CallbackUrlPlace {
    /// A place in the body, as a JSON pointer.
    Body(String),
    /// A member of the query.
    Query(String),
}

/// Where the caller gets status changes, from `on_body` until the attempts.
struct RequestedCallbackUrl(String);

/// The subscriptions of the attempts so far. Only the last attempt can lead to a task.
#[derive(Default)]
pub(super) struct AttemptSubscriptions(Mutex<Vec<AttemptSubscription>>);

/// The subscription of an attempt.
struct AttemptSubscription {
    channel: Arc<str>,
    nonce: String,
}

impl AttemptSubscriptions {
    /// The nonces of subscriptions to which no task was bound.
    pub(super) fn into_unbound(self) -> impl Iterator<Item = String> {
        let Self(pending) = self;
        let pending = pending.into_inner().unwrap_or_else(PoisonError::into_inner);
        pending.into_iter().map(|pending| pending.nonce)
    }

    fn push(&self, channel: &Arc<str>, nonce: &str) {
        self.lock().push(AttemptSubscription {
            channel: channel.clone(),
            nonce: nonce.to_owned(),
        });
    }

    /// The nonce of the last subscription, if it is of this channel: the last attempt may have had none.
    fn take_for_channel(&self, channel: &str) -> Option<String> {
        let last = self.lock().pop_if(|last| *last.channel == *channel);
        last.map(|last| last.nonce)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<AttemptSubscription>> {
        lock(&self.0)
    }
}

impl CallbackSubscriptionFilter {
    /// Where creates of the route have the caller's URL: in a vendor's own API, where the vendor has it.
    fn place(&self, request: &RequestView) -> CallbackUrlPlace {
        let destination = request.destination.as_ref();
        let destination = destination.filter(|_| self.format == CallerStatusFormat::Native);
        let families = destination.into_iter().flat_map(|it| it.candidates.iter());
        let mut families = families.filter_map(|candidate| candidate.channel.family.as_ref());
        match families.find_map(|family| family.callback_target()) {
            Some(CallbackTarget::Query(name)) => CallbackUrlPlace::Query(name.to_owned()),
            Some(CallbackTarget::Body(to)) => CallbackUrlPlace::Body(to.pointer(0)),
            None => CallbackUrlPlace::Body(format!("/{CALLBACK_URL}")),
        }
    }

    /// Whether the gateway, not the provider, delivers to URLs of callers.
    fn delivers(&self) -> bool {
        let delivers = matches!(
            self.mode,
            CallbackUrlMode::Deliver | CallbackUrlMode::SignedOnly
        );
        delivers && self.public_url.is_some()
    }

    /// Checks the caller's URL before anything is sent.
    ///
    /// # Errors
    /// The route, the caller's secrets or the egress policy do not permit it.
    pub(super) async fn check_url(&self, request: &mut RequestView) -> Result<(), Fault> {
        request.state.set(AttemptSubscriptions::default());
        let place = self.place(request);
        let Some(url) = place.url(request)? else {
            self.use_webhook_url(request);
            return Ok(());
        };
        let is_signed = |caller: &Arc<Caller>| !caller.webhook_secrets.is_empty();
        match self.mode {
            CallbackUrlMode::Refuse => {
                return Err(place.refused("callbacks are not available here; poll the task"));
            }
            CallbackUrlMode::SignedOnly if !request.caller.as_ref().is_some_and(is_signed) => {
                return Err(place.refused(
                    "callbacks must be signed, and this API key has no webhook secret; ask the operator of this gateway for one, or poll the task",
                ));
            }
            CallbackUrlMode::Deliver | CallbackUrlMode::SignedOnly | CallbackUrlMode::Pass => {}
        }
        if !self.delivers() {
            return Ok(());
        }
        if request.caller.as_ref().is_some_and(|it| it.is_claimed()) {
            return Err(place.refused(
                "callbacks are not available to the caller of this token; poll the task",
            ));
        }
        if url.len() > URL_BYTES_MAX {
            return Err(place.refused(format!(
                "expected a URL of at most {URL_BYTES_MAX} bytes, received {}",
                url.len()
            )));
        }
        if let Some(fetch) = request.fetch.clone() {
            let checked = fetch.check(&url, &self.egress).await;
            checked.map_err(|error| not_permitted(&place, &error))?;
        }
        request.state.set(RequestedCallbackUrl(url));
        Ok(())
    }

    /// Has the ends of videos delivered to the URL that the operator set for the caller. It is checked when it is sent to.
    fn use_webhook_url(&self, request: &mut RequestView) {
        let caller = request.caller.as_ref();
        let url = caller.and_then(|caller| caller.webhook_url.clone());
        if self.delivers()
            && self.format == CallerStatusFormat::OpenAi
            && let Some(url) = url
        {
            request.state.set(RequestedCallbackUrl(url.to_string()));
        }
    }

    /// Has the channels that can deliver to the caller's URL used before the others.
    pub(super) fn prefer_delivering(&self, request: &mut RequestView) {
        let is_requested = request.state.get::<RequestedCallbackUrl>().is_some()
            || matches!(self.place(request).url(request), Ok(Some(_)));
        if !self.polls_all
            && is_requested
            && let Some(destination) = &mut request.destination
        {
            destination.prefer_all(|candidate| {
                let family = candidate.channel.family.as_ref();
                family.is_some_and(|family| family.sends_callbacks())
            });
        }
    }

    /// Whether the attempt's task gets a subscription.
    pub(super) fn subscribes(&self, request: &RequestView, attempt: &AttemptView) -> bool {
        let is_polled = self.polls_all && request.state.get::<RequestedCallbackUrl>().is_some();
        self.delivers() && request.caller.is_some() && (sends_callbacks(attempt) || is_polled)
    }

    /// Stores a subscription, and has the provider call back to the gateway.
    ///
    /// # Errors
    /// The subscription cannot be stored; nothing was sent.
    pub(super) async fn subscribe(
        &self,
        request: &RequestView,
        attempt: &mut AttemptView,
    ) -> Result<(), Fault> {
        let keys = self.tasks.keys().map_err(internal)?;
        let caller = request.caller.as_ref().map(|caller| &caller.name);
        let caller = caller.ok_or_else(|| internal("the request has no caller"))?;
        let channel = &attempt.candidate.channel;
        let now_ms = unix_ms();
        let token_expires_ms = now_ms + EXPIRES_AFTER_MAX * 1_000 + MARGIN_MS;
        let token =
            CallbackToken::new(caller, &channel.name, token_expires_ms).map_err(internal)?;
        let called_back = sends_callbacks(attempt);
        let requested = request.state.get::<RequestedCallbackUrl>();
        let new = UnboundSubscription {
            caller,
            channel: &channel.name,
            url: requested.map(|RequestedCallbackUrl(url)| url.as_str()),
            signed_only: self.mode == CallbackUrlMode::SignedOnly,
            format: self.format,
            expects_callbacks: called_back,
            create_within: self.timeouts.over(channel.timeouts).total,
            polled_until_ms: now_ms + expires_after(request) * 1_000 + MARGIN_MS,
        };
        match (self.records.subscribe(&token, &new).await, new.url) {
            (Ok(()), _) => {}
            (Err(refusal), Some(_)) => return Err(not_subscribed(refusal)),
            // The caller did not request callbacks: the task is created without them.
            (Err(refusal), None) => {
                tracing::debug!(id = &*request.id, %refusal, "task created without callbacks");
                return Ok(());
            }
        }
        if let Some(pending) = request.state.get::<AttemptSubscriptions>() {
            pending.push(&channel.name, &token.nonce);
        }
        if let Some(public_url) = self.public_url.as_ref().filter(|_| called_back) {
            let url = public_url.join(&format!("{CALLBACK_PATH}{}", token.seal(keys)));
            let family = attempt.candidate.channel.family.clone();
            match family.as_ref().and_then(|family| family.callback_target()) {
                Some(CallbackTarget::Body(to)) => {
                    let (name, value) = to.member_with(&quoted(&url));
                    let value = value.into();
                    attempt.body_members.push((name.to_owned(), value));
                }
                Some(CallbackTarget::Query(name)) => {
                    attempt.query_members.push((name.to_owned(), url));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Binds the new task to its subscription. The task exists and is paid for, so that a store that is unreachable now
    /// must not fail its create.
    pub(super) async fn bind(&self, response: &mut ResponseView<'_>) {
        let request = &*response.request;
        let Some(id) = request.info.response_id.as_deref() else {
            return;
        };
        let keys = self.tasks.keys.as_ref();
        let Some(task) = keys.and_then(|keys| keys.open(id).ok()) else {
            return;
        };
        let pending = request.state.get::<AttemptSubscriptions>();
        let Some(nonce) = pending.and_then(|pending| pending.take_for_channel(&task.channel))
        else {
            return;
        };
        if request.state.get::<RequestedCallbackUrl>().is_some() {
            remove_ignored(response.headers);
        }
        match self.records.bind(&nonce, id, &task).await {
            Ok(BindResult::Bound { is_hinted: true }) => self.queue.wake(),
            Ok(BindResult::Bound { is_hinted: false }) => {}
            Ok(BindResult::NoSubscription) => self.queue.count_bound_too_late(id),
            Err(unavailable) => {
                tracing::warn!(
                    id = &*request.id,
                    %unavailable,
                    "callback not yet bound to its task; trying again"
                );
                self.queue.bind_later(nonce, id.to_owned(), task);
            }
        }
    }
}

impl CallbackUrlPlace {
    /// The caller's URL; an empty one and `null` are none.
    ///
    /// # Errors
    /// It is no text.
    fn url(&self, request: &RequestView) -> Result<Option<String>, Fault> {
        let pointer = match self {
            Self::Query(name) => {
                let url = query_member(request.query.as_deref(), name);
                return Ok(url.filter(|url| !url.is_empty()));
            }
            Self::Body(pointer) => pointer,
        };
        let document = request.body.document();
        let node = document.and_then(|document| document.root().pointer(pointer));
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Ok(None);
        };
        match node.as_str() {
            Some(url) if url.is_empty() => Ok(None),
            Some(url) => Ok(Some(url.into_owned())),
            None => Err(self.refused("expected a URL as a string")),
        }
    }

    fn refused(&self, message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Invalid, message).param(self.name())
    }

    fn name(&self) -> &str {
        match self {
            Self::Body(pointer) => pointer.trim_start_matches('/'),
            Self::Query(name) => name,
        }
    }
}

/// The value of a member of a query.
pub(in crate::filter) fn query_member(query: Option<&str>, name: &str) -> Option<String> {
    let mut members = query?
        .split('&')
        .filter_map(|member| member.split_once('='));
    let (_, value) = members.find(|(known, _)| *known == name)?;
    Some(decoded(&value.replace('+', " ")).into_owned())
}

/// Removes `callback_url` from the header that lists ignored fields: the gateway delivers to it.
fn remove_ignored(headers: &mut HeaderMap) {
    let Some(ignored) = headers.remove(IGNORED) else {
        return;
    };
    let names = ignored.to_str().unwrap_or_default().split(", ");
    let names: Vec<&str> = names.filter(|name| *name != CALLBACK_URL).collect();
    if let (false, Ok(names)) = (names.is_empty(), HeaderValue::from_str(&names.join(", "))) {
        headers.insert(IGNORED, names);
    }
}

/// The seconds after which the provider ends the task.
fn expires_after(request: &RequestView) -> u64 {
    let requested = request.body.document().and_then(|document| {
        let node = document.root().get("execution_expires_after")?;
        node.as_u64()
    });
    requested.map_or(EXPIRES_AFTER, |seconds| seconds.min(EXPIRES_AFTER_MAX))
}

fn sends_callbacks(attempt: &AttemptView) -> bool {
    let family = attempt.candidate.channel.family.as_ref();
    family.is_some_and(|family| family.sends_callbacks())
}

fn not_permitted(place: &CallbackUrlPlace, error: &FetchError) -> Fault {
    let fault = match error.is_temporary {
        true => Fault::new(
            FaultKind::Overloaded,
            format!(
                "the host of `{}` could not be looked up now, and nothing was sent; try again",
                place.name()
            ),
        )
        .retry_after(RETRY_DELAY),
        false => place.refused(
            "expected an https URL of a host with a public address, which this gateway can call",
        ),
    };
    fault.detail(error.to_string())
}

fn not_subscribed(refusal: SubscriptionRefusal) -> Fault {
    match &refusal {
        SubscriptionRefusal::Unavailable(_) => Fault::new(
            FaultKind::Overloaded,
            "the gateway cannot store the callback of this task now, and nothing was sent; try again",
        )
        .retry_after(RETRY_DELAY),
        SubscriptionRefusal::TooMany => Fault::new(
            FaultKind::TooManyRequests,
            "too many unfinished tasks with callbacks; try again when some have ended",
        ),
    }
    .source(refusal)
}

fn internal(reason: impl ToString) -> Fault {
    Fault::new(
        FaultKind::Internal,
        "internal error: the callback of this task could not be prepared",
    )
    .detail(reason.to_string())
}
