//! Whose a batch is if a token has claimed the name of its caller: what settles it later without a request.

use headgate_core::catalog::caller::{Caller, Callers};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A caller of a batch whose name a token has claimed.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct ClaimedBatchOwner {
    /// The caller of the configuration whose limits it has.
    pub like: String,
    /// Its name in metrics.
    pub label: String,
}

impl ClaimedBatchOwner {
    /// `None` for a caller of the configuration.
    pub fn find(caller: &Caller) -> Option<Self> {
        Some(Self {
            like: caller.like.as_ref()?.to_string(),
            label: caller.metric_name().to_owned(),
        })
    }

    /// The caller as its tokens make it; `None` if the configuration has none like it any more.
    pub fn build(&self, name: &Arc<str>, callers: &Callers) -> Option<Arc<Caller>> {
        let template = callers.find_declared(&self.like)?;
        let caller = template.claimed_as(name.clone(), self.label.as_str().into());
        Some(Arc::new(caller))
    }
}
