//! What the services of a process keep when its configuration is reloaded.

use super::breaker::{BreakerSettings, CircuitBreaker};
use super::client::ServiceClient;
use super::outcome::CallRecorder;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use tokio::sync::Semaphore;

/// The client of the process, and the state of each service.
#[derive(Default)]
pub struct ProcessServiceStates {
    client: OnceLock<Arc<dyn ServiceClient>>,
    recorder: OnceLock<Arc<dyn CallRecorder>>,
    /// By a hash of the service's settings; of services that a configuration in use has.
    states: Mutex<HashMap<u64, Weak<ServiceState>>>,
}

/// The state of one service.
pub(super) struct ServiceState {
    pub breaker: CircuitBreaker,
    /// Permits for concurrent calls.
    pub calls: Semaphore,
}

impl ProcessServiceStates {
    /// Sets the client and the recorder. The process has one of each, which are known after the first configuration.
    pub fn connect(&self, client: Arc<dyn ServiceClient>, recorder: Arc<dyn CallRecorder>) {
        let _ = self.client.set(client);
        let _ = self.recorder.set(recorder);
    }

    pub(super) fn client(&self) -> Option<&Arc<dyn ServiceClient>> {
        self.client.get()
    }

    pub(super) fn recorder(&self) -> Option<&Arc<dyn CallRecorder>> {
        self.recorder.get()
    }

    /// The state of the service with these settings, created if there is none.
    pub(super) fn service_state(
        &self,
        fingerprint: u64,
        concurrent: u32,
        breaker: BreakerSettings,
    ) -> Arc<ServiceState> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|_, state| state.strong_count() > 0);
        if let Some(state) = states.get(&fingerprint).and_then(Weak::upgrade) {
            return state;
        }
        let state = Arc::new(ServiceState {
            breaker: CircuitBreaker::new(breaker),
            calls: Semaphore::new(concurrent as usize),
        });
        states.insert(fingerprint, Arc::downgrade(&state));
        state
    }
}

impl fmt::Debug for ProcessServiceStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessServiceStates")
            .finish_non_exhaustive()
    }
}
