//! The concurrency permit of an admitted request: what it occupies of its caller's `concurrent` limits.

use super::StateStore;
use super::admission::AdmissionTicket;
use std::sync::Arc;

/// What a request occupies of its caller's `concurrent` limits. Dropping it makes room for another request.
pub struct CallerPermit {
    store: Arc<dyn StateStore>,
    /// `None` once it was given back.
    ticket: Option<AdmissionTicket>,
}

impl CallerPermit {
    /// Takes the `concurrent` limits out of `ticket`, which keeps the others; `None` if there are none.
    pub fn split_from(ticket: &mut AdmissionTicket, store: &Arc<dyn StateStore>) -> Option<Self> {
        let ticket = ticket.split_off_concurrent()?;
        Some(Self {
            store: store.clone(),
            ticket: Some(ticket),
        })
    }
}

impl Drop for CallerPermit {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            let charged = ticket.tokens;
            self.store.settle(ticket, charged);
        }
    }
}
