//! Runs the worker of callbacks in the background, with the configuration in use.

use super::Gateway;
use super::listen::drain_state::until_set;
use crate::callbacks::{CallbackContext, CallbackWorker};
use crate::catalog::channel::TimeoutOverrides;
use crate::channel::random::random_fraction;
use crate::subrequest::SubrequestClient;
use async_trait::async_trait;
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::pin::pin;
use std::sync::Arc;

/// The worker of the process.
pub struct CallbackService {
    gateway: Arc<Gateway>,
}

impl CallbackService {
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway }
    }

    fn context(&self) -> CallbackContext {
        let snapshot = self.gateway.reloader.current();
        CallbackContext {
            callers: snapshot.callers.clone(),
            catalog: snapshot.catalog.clone(),
            tasks: snapshot.tasks.clone(),
            egress: snapshot.egress.clone(),
            state: self.gateway.reloader.state().clone(),
            polls: self.gateway.reloader.polls().clone(),
        }
    }
}

#[async_trait]
impl BackgroundService for CallbackService {
    /// Runs until the process closes to callers; others continue its work.
    async fn start(&self, _: ShutdownWatch) {
        let closing = pin!(until_set(self.gateway.drain_state.callers()));
        let worker = Arc::new(CallbackWorker::new(
            SubrequestClient::new(self.gateway.clone(), TimeoutOverrides::default()),
            self.gateway.fetcher.clone(),
            self.gateway.reloader.callbacks().clone(),
            random_fraction,
        ));
        tokio::select! {
            () = worker.run(|| self.context()) => {}
            () = closing => {}
        }
    }
}
