//! Lists and shows callers of the state store, as it has them now.

use crate::change::ChangeRefusal;
use crate::issuance::{Issuance, KIND};
use crate::issued_caller::IssuedCaller;

/// The maximum number of callers on a page of the list.
pub const PAGE_MAX: usize = 200;

/// Callers in the order of their names.
pub struct IssuedCallerPage {
    pub callers: Vec<FoundCaller>,
    /// The name after which the next page begins.
    pub next: Option<String>,
}

/// A caller as the store has it now.
pub struct FoundCaller {
    pub caller: IssuedCaller,
    /// The place of another one that has its name, and is used in its place.
    pub shadowed_by: Option<String>,
}

impl Issuance {
    /// The caller of a name.
    ///
    /// # Errors
    /// There is none, or the store is unreachable.
    pub async fn find(&self, name: &str) -> Result<FoundCaller, ChangeRefusal> {
        let context = self.context()?;
        let (_, caller) = self.read_live(&context, name).await?;
        self.with_shadow(caller).await
    }

    /// Callers with names after `after`, at most `limit`, which is at most [`PAGE_MAX`].
    ///
    /// # Errors
    /// The store is unreachable.
    pub async fn list(&self, after: &str, limit: usize) -> Result<IssuedCallerPage, ChangeRefusal> {
        let context = self.context()?;
        let keys = context.keys()?;
        let limit = limit.clamp(1, PAGE_MAX);
        let mut page = IssuedCallerPage {
            callers: Vec::new(),
            next: None,
        };
        let mut after = after.to_owned();
        loop {
            let found = context
                .state
                .records()
                .list(KIND, &after, PAGE_MAX)
                .get()
                .await?;
            let is_last = found.len() < PAGE_MAX;
            for record in &found {
                if page.callers.len() == limit {
                    page.next = Some(after);
                    return Ok(page);
                }
                after = record.key.to_string();
                let caller = IssuedCaller::open(keys, &record.key, &record.content.value);
                if let Some(caller) = caller.filter(|caller| !caller.is_deleted()) {
                    page.callers.push(self.with_shadow(caller).await?);
                }
            }
            if is_last {
                return Ok(page);
            }
        }
    }

    async fn with_shadow(&self, caller: IssuedCaller) -> Result<FoundCaller, ChangeRefusal> {
        let shadowed_by = match self.check_names(&caller).await {
            Ok(()) => None,
            Err(ChangeRefusal::Taken { place, .. }) => Some(place),
            Err(other) => return Err(other),
        };
        Ok(FoundCaller {
            caller,
            shadowed_by,
        })
    }
}
