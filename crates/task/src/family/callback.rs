//! Callbacks of a family's provider: how it confirms a URL, and how one is told from a forged one.

use super::source::ValueSourceList;
use crate::callback_signature::CallbackSignatureScheme;
use headgate_protocol::json::DocumentNode;

/// What a family says of its provider's callbacks.
#[derive(Debug, Default)]
pub struct ProviderCallbackRules {
    /// The member of a callback that is sent back to confirm its URL.
    pub challenge: Option<String>,
    /// How callbacks are signed; `None` if they are not verified.
    pub signature: Option<CallbackSignatureScheme>,
    /// Where a callback has the provider's task id.
    pub(super) task_id: Option<ValueSourceList>,
}

impl ProviderCallbackRules {
    /// Whether a callback may be about the task with this id of the provider: it names the id, or the last segment of one
    /// that is a path.
    pub fn is_about(&self, callback: Option<DocumentNode<'_>>, upstream_id: &str) -> bool {
        let Some(sources) = &self.task_id else {
            return true;
        };
        let named = callback.and_then(|root| sources.text(root));
        named.is_some_and(|named| {
            let before = upstream_id.strip_suffix(&*named);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        })
    }
}
