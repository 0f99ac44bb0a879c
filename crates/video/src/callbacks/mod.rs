//! Status changes of video tasks for callers: callbacks of providers, subscriptions to tasks, and signed deliveries.
//!
//! A subscription is stored before a task is created. The content of a provider's callback is not used: the worker queries
//! the status with the channel's credential, and stores one delivery for each change. All records are in the state
//! store, so that any gateway can continue the work of another.

pub(crate) mod admin_page;
pub(crate) mod background;
mod counters;
mod deliver;
mod delivery;
pub(crate) mod findings;
mod metrics;
mod next_due;
pub(crate) mod published_keys;
mod query;
mod queue;
mod queued_work;
mod records;
pub(crate) mod refusal_log;
mod search;
mod subscribe;
mod subscription;
#[cfg(test)]
mod tests;
mod token;
mod worker;

pub use counters::{
    CallbackCounters, DeliveryOutcome, ReceivedCallbackResult, StoredDeliveryTotals,
};
pub use delivery::Delivery;
pub(crate) use metrics::CallbackMetrics;
pub use queue::CallbackWorkerQueue;
pub use records::{CallbackRecordStore, RedriveOutcome};
pub use subscribe::{
    BindResult, ProviderCallbackOutcome, SubscriptionRefusal, UnboundSubscription,
};
pub use subscription::{CallerStatusFormat, Subscription};
pub use token::CallbackToken;
pub use worker::{CallbackWorker, CallbackWorkerContext};

/// The path of callbacks from providers, without the token.
pub const CALLBACK_PATH: &str = "/_headgate/callback/";
