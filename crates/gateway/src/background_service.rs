//! Runs the work of a feature in the background, with the configuration in use.

use crate::Gateway;
use async_trait::async_trait;
use headgate_core::feature::background::{BackgroundContext, BackgroundSnapshot, BackgroundWork};
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::sync::Arc;

/// The work of one feature.
pub(crate) struct BackgroundWorkService {
    gateway: Arc<Gateway>,
    work: BackgroundWork,
}

impl BackgroundWorkService {
    pub(crate) fn new(gateway: Arc<Gateway>, work: BackgroundWork) -> Self {
        Self { gateway, work }
    }

    fn context(&self) -> BackgroundContext {
        let gateway = &self.gateway;
        let reloader = gateway.reloader.clone();
        let current = move || {
            let snapshot = reloader.current();
            BackgroundSnapshot {
                callers: snapshot.callers.clone(),
                catalog: snapshot.catalog.clone(),
                tasks: snapshot.tasks.clone(),
                egress: snapshot.egress.clone(),
                features: snapshot.features.clone(),
            }
        };
        BackgroundContext {
            current: Box::new(current),
            state: gateway.reloader.state().clone(),
            subrequests: gateway.clone(),
            files: gateway.fetcher.clone(),
            deliveries: gateway.fetcher.clone(),
            ending: gateway.drain_state.ending(),
        }
    }
}

#[async_trait]
impl BackgroundService for BackgroundWorkService {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let work = (self.work.run)(self.context());
        if self.work.is_awaited {
            work.await;
            self.gateway.drain_state.background_ended();
        } else {
            tokio::select! {
                () = work => {}
                _ = shutdown.changed() => {}
            }
        }
    }
}
