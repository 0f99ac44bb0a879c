//! Of two faults, the one that is over sooner.

use crate::fault::Fault;
use std::time::Duration;

impl Fault {
    /// The other fault, unless this one is over sooner.
    pub fn or_sooner(self, other: Option<Self>) -> Self {
        // A fault without a time may never be over.
        let wait = |fault: &Self| fault.retry_after.unwrap_or(Duration::MAX);
        match other {
            Some(other) if wait(&other) <= wait(&self) => other,
            _ => self,
        }
    }
}
