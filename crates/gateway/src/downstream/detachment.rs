//! Detachment: an exchange that sends a paid create under an idempotency key continues after its caller has left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an exchange continues without its caller. The attempts arm it when the request is about to be sent, while
/// the caller's side is watched.
#[derive(Clone, Default)]
pub struct CallerDetachmentFlag(Option<Arc<AtomicBool>>);

impl CallerDetachmentFlag {
    /// Never armed, unless `is_allowed`.
    pub fn new(is_allowed: bool) -> Self {
        Self(is_allowed.then(Arc::default))
    }

    pub fn arm(&self) {
        if let Some(armed) = &self.0 {
            armed.store(true, Ordering::Relaxed);
        }
    }

    pub fn is_armed(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|armed| armed.load(Ordering::Relaxed))
    }
}
