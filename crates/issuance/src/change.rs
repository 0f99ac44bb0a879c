//! A change of a caller: the request, its result, and why it is refused.

use crate::issued_caller::IssuedCaller;
use headgate_config::directory::CallerProblem;
use headgate_core::state::StoreUnavailable;

pub use crate::new_key::NewCallerKey;

/// A request to make, change or delete a caller.
#[derive(Clone, Debug, Default)]
pub struct ChangeRequest {
    /// JSON; nothing for a deletion.
    pub body: Vec<u8>,
    /// The header `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// The version that the caller must have, from the header `If-Match`.
    pub version: Option<u64>,
}

/// A change that is in use at this gateway, and stored for the others.
pub struct AppliedChange {
    pub caller: IssuedCaller,
    /// Keys that were made now. They are shown once.
    pub new_keys: Vec<NewCallerKey>,
    /// Whether an earlier request with the same `Idempotency-Key` made the change.
    pub is_repeated: bool,
    /// What is valid and probably not intended.
    pub warnings: Vec<CallerProblem>,
}

/// Why a change is refused. Nothing is changed, unless the store failed in the middle of it.
#[derive(Debug, thiserror::Error)]
pub enum ChangeRefusal {
    #[error(
        "callers are not kept in the state store; add `caller_sources: {{store: {{}}}}` to routes.yaml"
    )]
    NotConfigured,
    #[error(
        "records of callers are sealed with `task_keys`, which routes.yaml lacks; `headgate key task` prints one"
    )]
    NoSealingKeys,
    #[error(
        "{0}; nothing was changed, unless the store failed while it wrote: ask `GET /callers/NAME`, or repeat the request with the same `Idempotency-Key`"
    )]
    Unavailable(#[from] StoreUnavailable),
    #[error("the change was interrupted; ask `GET /callers/NAME` whether it was made")]
    Interrupted,
    #[error("the system has no random numbers for keys")]
    NoRandomNumbers,
    #[error("the body is not valid JSON: {0}")]
    Unreadable(String),
    #[error("the caller is not valid")]
    Invalid(Vec<CallerProblem>),
    /// Another source has the name.
    #[error("caller `{name}` stands in {place}: change it there")]
    Taken { name: String, place: String },
    #[error("there is a caller `{0}`; change it with `PATCH /callers/{0}`")]
    Exists(String),
    #[error("there is no caller `{0}` in the state store")]
    Unknown(String),
    #[error(
        "the state store has a record of `{0}` that no gateway with these `task_keys` has written; find out who did, and remove it"
    )]
    Foreign(String),
    #[error(
        "the state store has an older record of `{0}` than this gateway has seen; find out who wrote it, delete the caller, and make it again"
    )]
    Outdated(String),
    #[error(
        "the request with this `Idempotency-Key` made the caller `{0}`, which was deleted since"
    )]
    MadeAndDeleted(String),
    #[error(
        "another request with this `Idempotency-Key` changed the caller; use a new key for each change"
    )]
    KeyReused,
    #[error("the caller has version {found}, not {expected}; read it again")]
    OtherVersion { found: u64, expected: u64 },
    #[error("somebody else changed the caller at the same time; read it again")]
    Conflict,
    #[error(
        "there are {0} callers, which is the maximum; delete some, or raise `caller_sources.store.most`"
    )]
    Full(u32),
}
