//! Seals a provider's thoughts with the keys of task ids, for callers of another protocol.

use headgate_core::catalog::model::Candidate;
use headgate_core::filter::view::RequestView;
use headgate_core::task::TaskSettings;
use headgate_translate::ThinkingSealer;
use std::sync::Arc;

/// What seals are for. They do not open as ids of tasks, nor the other way round.
const PURPOSE: &[u8] = b"headgate thinking";

/// Seals and opens for one caller, on one channel and model.
#[derive(Debug)]
pub(super) struct TaskKeySealer {
    tasks: Arc<TaskSettings>,
    purpose: Vec<u8>,
}

impl TaskKeySealer {
    /// `None` if the configuration has no keys.
    pub(super) fn for_attempt(
        tasks: &Arc<TaskSettings>,
        request: &RequestView,
        candidate: &Candidate,
    ) -> Option<Arc<dyn ThinkingSealer>> {
        tasks.keys.as_ref()?;
        let caller = request.caller.as_ref().map_or("", |caller| &*caller.name);
        let model = candidate.model.as_ref().map_or("", |model| &*model.name);
        let mut purpose = PURPOSE.to_vec();
        for name in [caller, &candidate.channel.name, model] {
            // With its length, so that no two lists of names make the same purpose.
            purpose.extend_from_slice(&(name.len() as u64).to_be_bytes());
            purpose.extend_from_slice(name.as_bytes());
        }
        let tasks = tasks.clone();
        Some(Arc::new(Self { tasks, purpose }))
    }
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
}
