//! Seals a provider's thoughts with the keys of task ids, for callers of another protocol.

use crate::catalog::model::Candidate;
use crate::filter::view::RequestView;
use crate::state::kept_thoughts::{FoundThoughts, ThoughtStore};
use crate::task::TaskSettings;
use headgate_translate::ThinkingSealer;
use std::sync::Arc;

/// What seals are for. They do not open as ids of tasks, nor the other way round.
const PURPOSE: &[u8] = b"headgate thinking";

/// Seals and opens for one caller, on one channel and model.
#[derive(Debug)]
pub struct TaskKeySealer {
    tasks: Arc<TaskSettings>,
    purpose: Vec<u8>,
    caller: Arc<str>,
    /// Keeps thoughts for callers that do not give them back; `None` where no response comes.
    store: Option<Arc<ThoughtStore>>,
    /// What the store has of the handles in the request.
    found: FoundThoughts,
}

impl TaskKeySealer {
    /// `None` if the configuration has no keys.
    pub fn for_attempt(
        tasks: &Arc<TaskSettings>,
        request: &RequestView,
        candidate: &Candidate,
        (store, found): (Option<&Arc<ThoughtStore>>, FoundThoughts),
    ) -> Option<Arc<dyn ThinkingSealer>> {
        tasks.keys.as_ref()?;
        let caller = caller_name(request);
        let model = candidate.model.as_ref().map_or("", |model| &*model.name);
        let mut purpose = PURPOSE.to_vec();
        for name in [&*caller, &candidate.channel.name, model] {
            // With its length, so that no two lists of names make the same purpose.
            purpose.extend_from_slice(&(name.len() as u64).to_be_bytes());
            purpose.extend_from_slice(name.as_bytes());
        }
        Some(Arc::new(Self {
            tasks: tasks.clone(),
            purpose,
            caller,
            store: store.cloned(),
            found,
        }))
    }
}

/// The name of a request's caller; empty if it has none.
pub fn caller_name(request: &RequestView) -> Arc<str> {
    let caller = request.caller.as_ref();
    caller.map_or_else(|| "".into(), |caller| caller.name.clone())
}

impl ThinkingSealer for TaskKeySealer {
    fn seal(&self, content: &[u8]) -> Vec<u8> {
        let keys = self.tasks.keys.as_ref();
        keys.map_or_else(Vec::new, |keys| keys.seal_bytes(&self.purpose, content))
    }

    fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        let keys = self.tasks.keys.as_ref()?;
        keys.open_bytes(&self.purpose, sealed)
    }

    fn keep(&self, seals: String) -> Option<Box<str>> {
        Some(self.store.as_ref()?.keep(&self.caller, seals))
    }

    fn find_kept(&self, handle: &str) -> Option<&str> {
        self.found.get(handle)
    }
}
