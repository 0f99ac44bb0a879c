//! Runs the worker of callbacks in the background, with the configuration in use.

use super::Gateway;
use super::listen::drain_state::until_set;
use crate::channel::random::random_fraction;
use async_trait::async_trait;
use headgate_core::catalog::channel::TimeoutOverrides;
use headgate_core::subrequest::SubrequestClient;
use headgate_video::callbacks::{CallbackContext, CallbackWorker};
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// Queries of the worker end before their lease.
const QUERY_TIMEOUTS: TimeoutOverrides = TimeoutOverrides {
    connect: Some(Duration::from_secs(5)),
    first_byte: Some(Duration::from_secs(15)),
    idle: Some(Duration::from_secs(10)),
    total: Some(Duration::from_secs(25)),
};
/// How long the process waits for queries and deliveries in flight before it ends.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

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
            polls: self.gateway.reloader.features().get(),
        }
    }
}

#[async_trait]
impl BackgroundService for CallbackService {
    /// Runs until the process has drained, since tasks are still created until then.
    async fn start(&self, _: ShutdownWatch) {
        let drain_state = &self.gateway.drain_state;
        let ending = pin!(until_set(drain_state.ending()));
        let worker = Arc::new(CallbackWorker::new(
            SubrequestClient::new(self.gateway.clone(), QUERY_TIMEOUTS),
            self.gateway.fetcher.clone(),
            self.gateway.reloader.features().get(),
            random_fraction,
        ));
        tokio::select! {
            () = worker.clone().run(|| self.context()) => {}
            () = ending => worker.finish(&self.context(), FINISH_WITHIN).await,
        }
        drain_state.background_ended();
    }
}
