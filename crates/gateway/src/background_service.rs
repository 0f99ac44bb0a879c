//! Runs the work of features in the background, with the configuration in use, and fetches credentials.

use crate::Gateway;
use crate::listen::drain_state::until_set;
use crate::upstream::service::UpstreamCalloutClient;
use async_trait::async_trait;
use headgate_core::feature::background::{BackgroundContext, BackgroundSnapshot, BackgroundWork};
use headgate_credentials::refresh as credential_refresh;
use pingora_core::server::ShutdownWatch;
use pingora_core::services::background::BackgroundService;
use std::sync::Arc;
use tokio::task::JoinSet;

/// The work of all features, on one thread: none of it blocks.
pub(crate) struct BackgroundWorkService {
    gateway: Arc<Gateway>,
    works: Vec<BackgroundWork>,
}

impl BackgroundWorkService {
    pub(crate) fn new(gateway: Arc<Gateway>, works: Vec<BackgroundWork>) -> Self {
        Self { gateway, works }
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
    async fn start(&self, shutdown: ShutdownWatch) {
        // A task for each, so that one that panics ends no other.
        let mut works = JoinSet::new();
        for work in &self.works {
            let running = (work.run)(self.context());
            match work.is_awaited {
                true => {
                    let drain_state = self.gateway.drain_state.clone();
                    works.spawn(async move {
                        running.await;
                        drain_state.background_ended();
                    })
                }
                false => {
                    let mut shutdown = shutdown.clone();
                    works.spawn(async move {
                        tokio::select! {
                            () = running => {}
                            _ = shutdown.changed() => {}
                        }
                    })
                }
            };
        }
        let registry = self.gateway.reloader.credentials().clone();
        let client = UpstreamCalloutClient::new(self.gateway.upstream.clone());
        let refreshing = credential_refresh::run(registry, Arc::new(client));
        // Exchanges in flight may need a credential until the last one is over.
        let ended = until_set(self.gateway.drain_state.ending());
        works.spawn(async move {
            tokio::select! {
                () = refreshing => {}
                () = ended => {}
            }
        });
        while works.join_next().await.is_some() {}
    }
}
