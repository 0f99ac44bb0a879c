//! The callers that `routes.yaml` does not name: each source keeps its own here, while configurations come and go.

mod build;
mod record;
mod remaining_keys;
mod state;

pub(crate) use build::ExternalCallerContext;
pub use build::find_name_problem;
pub use record::{CallerChange, CallerNameHolder, CallerRecord, CallerSource, RefusedCaller};

pub use crate::caller_file::{parse_caller, parse_caller_text};
pub use crate::caller_problem::CallerProblem;

use crate::callers::CallerConfig;
use crate::problem::Severity;
use headgate_core::state::lock::lock;
use state::DirectoryState;
use std::fmt;
use std::sync::Mutex;

/// The callers of all sources besides `routes.yaml`, and what of them the configuration in use accepts.
///
/// A name belongs to the first source that has it: `routes.yaml`, then the sources in the order of [`CallerSource`]. So does a
/// key; within a source the caller that has it stays. Every change is in use when the call returns, for all requests that
/// begin afterwards. Calls may take milliseconds for each thousand callers, and wait for each other: call none on an async
/// thread. Requests wait for none of them.
#[derive(Default)]
pub struct CallerDirectory {
    state: Mutex<DirectoryState>,
}

impl CallerDirectory {
    /// Replaces all callers of a source: those that `changes` do not name are gone.
    pub fn replace(&self, source: CallerSource, changes: Vec<CallerChange>) {
        let mut state = lock(&self.state);
        let gone = state.names_besides(source, &changes);
        let gone = gone.into_iter().map(CallerChange::Remove);
        let changes = gone.chain(changes).collect();
        state.change(source, changes);
    }

    /// Makes changes of one source, in their order. A caller that is refused is listed in [`CallerDirectory::refused`] and keeps
    /// the rest of its last accepted state: a key that its new state lacks is refused.
    pub fn change(&self, source: CallerSource, changes: Vec<CallerChange>) {
        lock(&self.state).change(source, changes);
    }

    /// Everything for which the configuration in use, or another caller, would refuse or warn of the caller; pointers are those
    /// of the caller. It is accepted if none of these is an error.
    pub fn check(&self, source: CallerSource, config: &CallerConfig) -> Vec<CallerProblem> {
        lock(&self.state).check(source, config)
    }

    /// Where a caller of this name stands, if there is one, accepted or refused.
    pub fn find_holder(&self, name: &str) -> Option<CallerNameHolder> {
        lock(&self.state).find_holder(name)
    }

    /// Callers that are not as their source has them, and why, by source and name.
    pub fn refused(&self) -> Vec<RefusedCaller> {
        lock(&self.state).refused()
    }

    /// Builds all callers again for a configuration, which is the one in use from then on.
    pub(crate) fn adopt(&self, context: ExternalCallerContext) {
        lock(&self.state).adopt(context);
    }
}

/// Callers have secrets.
impl fmt::Debug for CallerDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[callers]")
    }
}

fn has_errors(problems: &[CallerProblem]) -> bool {
    let mut problems = problems.iter();
    problems.any(|problem| problem.severity == Severity::Error)
}
