//! Callers of the state store, as one gateway keeps and changes them.

use crate::change::{AppliedChange, ChangeRefusal, ChangeRequest};
use crate::idempotency::{AppliedRequest, RequestRepetition};
use crate::issued_caller::IssuedCaller;
use crate::new_key::draw_id;
use crate::replica::{CallerReplica, RecordRefusal};
use crate::request_body::{CallerDraft, apply_patch, is_caller_name, read_new_caller};
use headgate_config::directory::{CallerNameHolder, CallerProblem, CallerSource, parse_caller};
use headgate_config::problem::Severity;
use headgate_config::reload::SnapshotReloader;
use headgate_core::state::calendar::unix_ms;
use headgate_core::state::records::{Record, RecordKind};
use headgate_core::state::{StateStore, StoreUnavailable};
use headgate_core::task::TaskSettings;
use headgate_core::task::id::TaskIdKeyRing;
use headgate_core::timestamp::utc_date;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{Mutex as WaitingMutex, MutexGuard as WaitingGuard};

/// The records of callers.
pub(crate) const KIND: RecordKind = RecordKind::IssuedCaller;
/// How long a change waits for another one, or for a poll.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// The callers of the state store.
pub struct Issuance {
    pub(crate) reloader: Arc<SnapshotReloader>,
    /// One poll or change at a time.
    pub(crate) replica: WaitingMutex<CallerReplica>,
    /// What the last poll refused, by name.
    pub(crate) refused: Mutex<Vec<(String, RecordRefusal)>>,
}

/// What a change of callers works with.
pub(crate) struct IssuanceContext {
    pub state: Arc<dyn StateStore>,
    pub tasks: Arc<TaskSettings>,
    /// The maximum number of callers.
    pub most: u32,
}

impl Issuance {
    pub fn new(reloader: Arc<SnapshotReloader>) -> Self {
        Self {
            reloader,
            replica: WaitingMutex::default(),
            refused: Mutex::default(),
        }
    }

    /// Records that are not used, by the names under which they are stored.
    pub fn refused(&self) -> Vec<(String, RecordRefusal)> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.clone()
    }

    /// Makes a caller.
    ///
    /// # Errors
    /// Nothing was changed, except as [`ChangeRefusal::Unavailable`] says.
    pub async fn create(&self, request: ChangeRequest) -> Result<AppliedChange, ChangeRefusal> {
        let context = self.context()?;
        let (name, draft) = read_new_caller(&request.body, &utc_date(SystemTime::now()))?;
        let mut replica = self.turn().await?;
        self.follow(&mut replica, &context).await?;
        self.check_holder(&name).await?;
        let stored = self.read(&context, &name).await?;
        let before = stored.as_ref().map(|(_, caller)| caller);
        let applied = request.applied_as("create", &name);
        if let Some(before) = before
            && let Some(earlier) = find_earlier(applied.as_ref(), before)?
        {
            return match before.is_deleted() {
                true => Err(ChangeRefusal::MadeAndDeleted(name)),
                false => Ok(earlier),
            };
        }
        if before.is_some_and(|before| !before.is_deleted()) {
            return Err(ChangeRefusal::Exists(name));
        }
        let number = replica.used();
        if u32::try_from(number).is_ok_and(|number| number >= context.most) {
            return Err(ChangeRefusal::Full(context.most));
        }
        let now_ms = unix_ms();
        let next = IssuedCaller {
            id: draw_id().map_err(|_| ChangeRefusal::NoRandomNumbers)?,
            predecessors: replica.predecessors(&name, before),
            version: 0,
            created_ms: now_ms,
            changed_ms: now_ms,
            entry: Some(draft.entry),
            // What the one before was asked to do stays known, so that a late repetition makes nothing.
            applied: before
                .map(|before| before.applied.clone())
                .unwrap_or_default(),
            name,
        };
        if next.predecessors > 0 {
            self.check_holder(&next.identity()).await?;
        }
        let next = remembering(next, applied);
        let warnings = self.check(&next).await?;
        let caller = self
            .write(&mut replica, &context, stored.map(|it| it.0), next)
            .await?;
        Ok(AppliedChange {
            caller,
            new_keys: draft.new_keys,
            is_repeated: false,
            warnings,
        })
    }

    /// Changes a caller.
    ///
    /// # Errors
    /// As of [`Self::create`].
    pub async fn change(
        &self,
        name: &str,
        request: ChangeRequest,
    ) -> Result<AppliedChange, ChangeRefusal> {
        let context = self.context()?;
        let mut replica = self.turn().await?;
        self.follow(&mut replica, &context).await?;
        let (record, before, applied) = self.changeable(&context, name, &request, "change").await?;
        self.check_names(&before).await?;
        if let Some(earlier) = find_earlier(applied.as_ref(), &before)? {
            return Ok(earlier);
        }
        request.check_version(&before)?;
        // What it is changed from may have keys that were removed since.
        if replica.is_outdated(&before) {
            return Err(ChangeRefusal::Outdated(name.to_owned()));
        }
        let Some(entry) = before.entry.clone() else {
            return Err(ChangeRefusal::Unknown(name.to_owned()));
        };
        let CallerDraft { entry, new_keys } = apply_patch(entry, &request.body)?;
        let next = IssuedCaller {
            changed_ms: unix_ms(),
            entry: Some(entry),
            ..before
        };
        let next = remembering(next, applied);
        let warnings = self.check(&next).await?;
        let caller = self
            .write(&mut replica, &context, Some(record), next)
            .await?;
        Ok(AppliedChange {
            caller,
            new_keys,
            is_repeated: false,
            warnings,
        })
    }

    /// Deletes a caller. What is left of it keeps its name from being what it was.
    ///
    /// # Errors
    /// As of [`Self::create`].
    pub async fn delete(
        &self,
        name: &str,
        request: ChangeRequest,
    ) -> Result<AppliedChange, ChangeRefusal> {
        let context = self.context()?;
        let mut replica = self.turn().await?;
        self.follow(&mut replica, &context).await?;
        let (record, before, applied) = self.changeable(&context, name, &request, "delete").await?;
        if let Some(earlier) = find_earlier(applied.as_ref(), &before)? {
            return Ok(earlier);
        }
        request.check_version(&before)?;
        if before.is_deleted() {
            return Err(ChangeRefusal::Unknown(name.to_owned()));
        }
        let next = IssuedCaller {
            changed_ms: unix_ms(),
            entry: None,
            ..before
        };
        let next = remembering(next, applied);
        let caller = self
            .write(&mut replica, &context, Some(record), next)
            .await?;
        Ok(AppliedChange {
            caller,
            new_keys: Vec::new(),
            is_repeated: false,
            warnings: Vec::new(),
        })
    }

    /// What changes work with.
    pub(crate) fn context(&self) -> Result<IssuanceContext, ChangeRefusal> {
        let snapshot = self.reloader.current();
        let sources = snapshot.caller_sources.as_ref();
        let most = sources.and_then(|sources| sources.stored_max);
        let most = most.ok_or(ChangeRefusal::NotConfigured)?;
        let context = IssuanceContext {
            state: self.reloader.state().clone(),
            tasks: snapshot.tasks.clone(),
            most,
        };
        context.keys()?;
        Ok(context)
    }

    /// Waits for other changes and polls.
    async fn turn(&self) -> Result<WaitingGuard<'_, CallerReplica>, ChangeRefusal> {
        let turn = tokio::time::timeout(TURN_TIMEOUT, self.replica.lock()).await;
        turn.map_err(|_| StoreUnavailable("other changes of callers wait for it".into()).into())
    }

    /// Refuses names of other sources.
    pub(crate) async fn check_holder(&self, name: &str) -> Result<(), ChangeRefusal> {
        let (directory, wanted) = (self.reloader.directory().clone(), name.to_owned());
        let found = tokio::task::spawn_blocking(move || directory.find_holder(&wanted)).await;
        match found.map_err(|_| ChangeRefusal::Interrupted)? {
            None | Some(CallerNameHolder::Source(CallerSource::Store, _)) => Ok(()),
            Some(holder) => Err(ChangeRefusal::Taken {
                name: name.to_owned(),
                place: holder.to_string(),
            }),
        }
    }

    /// The record of a caller that a request is about, and what the record is to remember of the request.
    async fn changeable(
        &self,
        context: &IssuanceContext,
        name: &str,
        request: &ChangeRequest,
        action: &str,
    ) -> Result<(Record, IssuedCaller, Option<AppliedRequest>), ChangeRefusal> {
        let found = self.read_named(context, name).await;
        if found.as_ref().map_or(true, |it| it.1.is_deleted()) {
            self.check_holder(name).await?;
        }
        let (record, caller) = found?;
        Ok((record, caller, request.applied_as(action, name)))
    }

    /// Refuses a caller of whose names another source has one.
    pub(crate) async fn check_names(&self, caller: &IssuedCaller) -> Result<(), ChangeRefusal> {
        self.check_holder(&caller.name).await?;
        self.check_holder(&caller.identity()).await
    }

    /// A caller that is not deleted. If there is none, the error says who else has the name.
    pub(crate) async fn read_live(
        &self,
        context: &IssuanceContext,
        name: &str,
    ) -> Result<(Record, IssuedCaller), ChangeRefusal> {
        match self.read_named(context, name).await {
            Ok(found) if !found.1.is_deleted() => Ok(found),
            Ok(_) => {
                self.check_holder(name).await?;
                Err(ChangeRefusal::Unknown(name.to_owned()))
            }
            Err(error) => {
                self.check_holder(name).await?;
                Err(error)
            }
        }
    }

    pub(crate) async fn read_named(
        &self,
        context: &IssuanceContext,
        name: &str,
    ) -> Result<(Record, IssuedCaller), ChangeRefusal> {
        let unknown = || ChangeRefusal::Unknown(name.to_owned());
        if !is_caller_name(name) {
            return Err(unknown());
        }
        self.read(context, name).await?.ok_or_else(unknown)
    }

    /// What the store has under a name. A record that nobody with the keys has written counts as a conflict: the operator
    /// has to find out whose it is.
    async fn read(
        &self,
        context: &IssuanceContext,
        name: &str,
    ) -> Result<Option<(Record, IssuedCaller)>, ChangeRefusal> {
        let keys = context.keys()?;
        let Some(record) = context.state.records().get(KIND, name).get().await? else {
            return Ok(None);
        };
        match IssuedCaller::open(keys, name, &record.content.value) {
            Some(caller) => Ok(Some((record, caller))),
            None => Err(ChangeRefusal::Foreign(name.to_owned())),
        }
    }

    /// Checks a caller as the configuration in use sees it; returns warnings.
    async fn check(&self, caller: &IssuedCaller) -> Result<Vec<CallerProblem>, ChangeRefusal> {
        let value = caller.config_value().unwrap_or_default();
        let config = parse_caller(&value).map_err(ChangeRefusal::Invalid)?;
        let directory = self.reloader.directory().clone();
        let check = move || directory.check(CallerSource::Store, &config);
        let problems = tokio::task::spawn_blocking(check).await;
        let problems = problems.map_err(|_| ChangeRefusal::Interrupted)?;
        let is_error = |problem: &CallerProblem| problem.severity == Severity::Error;
        match problems.iter().any(is_error) {
            true => Err(ChangeRefusal::Invalid(problems)),
            false => Ok(problems),
        }
    }
}

impl IssuanceContext {
    pub fn keys(&self) -> Result<&TaskIdKeyRing, ChangeRefusal> {
        self.tasks.keys.as_ref().ok_or(ChangeRefusal::NoSealingKeys)
    }
}

impl ChangeRequest {
    fn applied_as(&self, action: &str, name: &str) -> Option<AppliedRequest> {
        let key = self.idempotency_key.as_deref()?;
        Some(AppliedRequest::new(
            key,
            &format!("{action} {name}"),
            &self.body,
        ))
    }

    fn check_version(&self, caller: &IssuedCaller) -> Result<(), ChangeRefusal> {
        match self.version {
            Some(expected) if expected != caller.version => Err(ChangeRefusal::OtherVersion {
                found: caller.version,
                expected,
            }),
            _ => Ok(()),
        }
    }
}

fn remembering(mut caller: IssuedCaller, applied: Option<AppliedRequest>) -> IssuedCaller {
    if let Some(applied) = applied {
        applied.remember(&mut caller.applied);
    }
    caller
}

/// The result of a request that was applied before, if this one repeats it: what is there now, and no key a second time.
fn find_earlier(
    applied: Option<&AppliedRequest>,
    caller: &IssuedCaller,
) -> Result<Option<AppliedChange>, ChangeRefusal> {
    match applied.map(|applied| applied.compare(&caller.applied)) {
        Some(RequestRepetition::Repeated) => Ok(Some(AppliedChange {
            caller: caller.clone(),
            new_keys: Vec::new(),
            is_repeated: true,
            warnings: Vec::new(),
        })),
        Some(RequestRepetition::KeyReused) => Err(ChangeRefusal::KeyReused),
        Some(RequestRepetition::New) | None => Ok(None),
    }
}
