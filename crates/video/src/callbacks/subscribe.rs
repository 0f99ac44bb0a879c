//! The course of a subscription: stored before a create, bound to its task, called back, or removed.

use super::records::{CallbackRecordStore, StoredRecord, json};
use super::subscription::{CallerStatusFormat, Subscription};
use super::token::CallbackToken;
use crate::polls::task_key;
use headgate_core::state::StoreUnavailable;
use headgate_core::state::calendar::{unix_ms, whole_ms};
use headgate_core::state::records::{InsertResult, RecordContent, RecordKind};
use headgate_core::task::id::TaskId;
use headgate_core::task::state::TaskState;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of records of a caller about its subscriptions; an open task has up to two. Creates without a
/// callback URL add none beyond the lower number, so that they leave room for the others.
const SUBSCRIPTIONS_MAX: u32 = 100_000;
const WITHOUT_URL_MAX: u32 = 10_000;
/// How long a create may take beyond its channel's timeout before its subscription expires.
const UNBOUND_MARGIN_MS: u64 = 10 * 60 * 1_000;
/// How long before that it is removed if no task was bound to it.
const UNBOUND_REMOVED_MS: u64 = 5 * 60 * 1_000;

/// A subscription to a task that is about to be created.
pub struct UnboundSubscription<'a> {
    pub caller: &'a Arc<str>,
    pub channel: &'a str,
    /// Where status changes are delivered.
    pub url: Option<&'a str>,
    /// Whether events may only be sent with a signature.
    pub signed_only: bool,
    pub format: CallerStatusFormat,
    /// Whether the provider will send callbacks.
    pub expects_callbacks: bool,
    /// The longest time that the create may take.
    pub create_within: Duration,
    /// Unix milliseconds from which the task is not polled.
    pub polled_until_ms: u64,
}

/// Why a subscription was not stored.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionRefusal {
    #[error(transparent)]
    Unavailable(#[from] StoreUnavailable),
    #[error("the caller has {SUBSCRIPTIONS_MAX} subscriptions")]
    TooMany,
}

/// What became of the binding of a task to its subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindResult {
    Bound {
        /// Whether the provider has called back before.
        is_hinted: bool,
    },
    /// The subscription has expired or was removed.
    NoSubscription,
}

/// What became of a callback from a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderCallbackOutcome {
    /// The status of the task will be queried.
    Noted,
    /// A query that begins later was due already.
    AlreadyNoted,
    /// The caller named no URL, so that nobody is told of a change: the status is not queried.
    NoReceiver,
    /// There is no such subscription, or its task has ended.
    Unknown,
    /// The callback is about another task.
    OtherTask,
}

impl CallbackRecordStore {
    /// Stores a subscription under the token's nonce.
    ///
    /// # Errors
    /// The store is unreachable, or the caller has too many subscriptions.
    pub async fn subscribe(
        &self,
        token: &CallbackToken,
        new: &UnboundSubscription<'_>,
    ) -> Result<(), SubscriptionRefusal> {
        let subscription = Subscription {
            channel: new.channel.to_owned(),
            url: new.url.map(str::to_owned),
            signed_only: new.signed_only,
            format: new.format,
            task: None,
            state: TaskState::Queued,
            expects_callbacks: new.expects_callbacks,
            hints: 0,
            hints_settled: 0,
            hints_queried: 0,
            queries_since_hint: 0,
            polls: 0,
            queried_ms: 0,
            polled_until_ms: new.polled_until_ms,
        };
        let created_ms = unix_ms().saturating_add(whole_ms(new.create_within));
        let expires_ms = created_ms.saturating_add(UNBOUND_MARGIN_MS);
        let content = RecordContent {
            value: json(&subscription),
            owner: new.caller.clone(),
            expires_ms,
            due_ms: Some(expires_ms - UNBOUND_REMOVED_MS),
        };
        let owner_max = match new.url {
            Some(_) => SUBSCRIPTIONS_MAX,
            None => WITHOUT_URL_MAX,
        };
        let kind = RecordKind::Subscription;
        let stored = self.store().insert(kind, &token.nonce, content, owner_max);
        match stored.get().await? {
            // A nonce of 128 random bits is new.
            InsertResult::Inserted { .. } | InsertResult::Exists(_) => Ok(()),
            InsertResult::OwnerFull => Err(SubscriptionRefusal::TooMany),
        }
    }

    /// Binds the task that the provider has accepted to its subscription.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn bind(
        &self,
        nonce: &str,
        id: &str,
        task: &TaskId,
    ) -> Result<BindResult, StoreUnavailable> {
        let bound = self.change_subscription(nonce, |stored| {
            let subscription = &mut stored.value;
            subscription.task = Some(id.to_owned());
            let now_ms = unix_ms();
            stored.due_ms = subscription.next_query_ms(now_ms);
            stored.expires_ms = subscription.polled_until_ms.max(now_ms + UNBOUND_MARGIN_MS);
            true
        });
        let Some(bound) = bound.await? else {
            return Ok(BindResult::NoSubscription);
        };
        let result = BindResult::Bound {
            is_hinted: bound.value.is_hinted(),
        };
        // A task that has ended needs no way to its subscription any more.
        if bound.value.url.is_none() || bound.value.state.is_terminal() {
            return Ok(result);
        }
        // From the task to its subscription, for queries and cancels that find the task's end.
        let content = RecordContent {
            value: json(&nonce),
            due_ms: None,
            ..bound.content()
        };
        let (kind, key) = (RecordKind::Subscription, task_key(task));
        let inserted = self.store().insert(kind, &key, content, SUBSCRIPTIONS_MAX);
        inserted.get().await?;
        Ok(result)
    }

    /// Removes a subscription that no task was bound to.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn unsubscribe(&self, nonce: &str) -> Result<(), StoreUnavailable> {
        let kind = RecordKind::Subscription;
        let Some(record) = self.store().get(kind, nonce).get().await? else {
            return Ok(());
        };
        let stored = StoredRecord::<Subscription>::from_record(record);
        if let Some(stored) = stored.filter(|stored| stored.value.task.is_none()) {
            let removed = self.store().remove(kind, nonce, stored.version);
            removed.get().await?;
        }
        Ok(())
    }

    /// Notes that a provider called back; `is_about` decides whether it did so about the task with this id of the caller.
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn note_callback(
        &self,
        token: &CallbackToken,
        is_about: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<ProviderCallbackOutcome, StoreUnavailable> {
        let mut acceptance = ProviderCallbackOutcome::Unknown;
        let noted = self.change_subscription(&token.nonce, |stored| {
            let is_bound = *stored.owner == *token.caller && stored.value.channel == token.channel;
            let has_receiver = stored.value.url.is_some();
            // Before the create has its response, the task of the callback is not known yet.
            let is_other = stored.value.task.as_deref().is_some_and(|id| !is_about(id));
            acceptance = match (is_bound, stored.value.state.is_terminal()) {
                (true, false) if is_other => ProviderCallbackOutcome::OtherTask,
                (true, false) if !has_receiver => ProviderCallbackOutcome::NoReceiver,
                (true, false) if stored.value.has_query_ahead() => {
                    ProviderCallbackOutcome::AlreadyNoted
                }
                (true, false) => ProviderCallbackOutcome::Noted,
                _ => ProviderCallbackOutcome::Unknown,
            };
            if acceptance != ProviderCallbackOutcome::Noted {
                return false;
            }
            // Without a task the hint waits until one is bound.
            stored.due_ms = stored.value.hint(unix_ms()).or(stored.due_ms);
            true
        });
        match noted.await? {
            // The subscription was removed while it was changed.
            None if acceptance == ProviderCallbackOutcome::Noted => {
                Ok(ProviderCallbackOutcome::Unknown)
            }
            _ => Ok(acceptance),
        }
    }

    /// Notes that the task with this key has ended. Returns whether its subscription became due by this.
    pub(super) async fn note_task_end(&self, task_key: &str) -> Result<bool, StoreUnavailable> {
        let kind = RecordKind::Subscription;
        let Some(record) = self.store().get(kind, task_key).get().await? else {
            return Ok(false);
        };
        let Ok(nonce) = serde_json::from_slice::<String>(&record.content.value) else {
            return Ok(false);
        };
        let noted = self.change_subscription(&nonce, |stored| {
            if stored.value.state.is_terminal() {
                return false;
            }
            stored.due_ms = stored.value.hint(unix_ms());
            true
        });
        let is_due = noted.await?.is_some();
        // The way from the task to its subscription is not needed any more, and counts for the caller.
        let removed = self.store().remove(kind, task_key, record.version);
        removed.get().await?;
        Ok(is_due)
    }
}
