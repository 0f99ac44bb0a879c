//! Work of features in the background, beside the requests of callers.

use super::FeatureTypeMap;
use crate::catalog::Catalog;
use crate::catalog::caller::Callers;
use crate::catalog::egress::EgressPolicy;
use crate::filter::fetch::ResponseFileFetcher;
use crate::outgoing::delivery_client::DeliveryClient;
use crate::state::StateStore;
use crate::subrequest::SubrequestSender;
use crate::task::TaskSettings;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;

/// Work that begins when the process serves. That of all features shares a thread, so that it must not block.
pub struct BackgroundWork {
    /// Whether the process waits for its end, which it begins when [`BackgroundContext::ending`] is set. Other work is
    /// dropped as soon as the process is told to end.
    pub is_awaited: bool,
    pub run: fn(BackgroundContext) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// What the work uses of its process.
pub struct BackgroundContext {
    /// Loads what it uses of the configuration in use.
    pub current: Box<dyn Fn() -> BackgroundSnapshot + Send + Sync>,
    pub state: Arc<dyn StateStore>,
    /// Sends requests to channels.
    pub subrequests: Arc<dyn SubrequestSender>,
    /// Fetches files.
    pub files: Arc<dyn ResponseFileFetcher>,
    /// Sends events to URLs of callers.
    pub deliveries: Arc<dyn DeliveryClient>,
    /// Set when no request is in flight any more.
    pub ending: watch::Receiver<bool>,
}

/// Parts of the configuration in use.
#[derive(Clone)]
pub struct BackgroundSnapshot {
    pub callers: Arc<Callers>,
    pub catalog: Arc<Catalog>,
    pub tasks: Arc<TaskSettings>,
    pub egress: Arc<EgressPolicy>,
    /// What features share between snapshots, and what they built for this one.
    pub features: FeatureTypeMap,
}

impl BackgroundContext {
    /// Waits until no request is in flight any more.
    pub async fn until_ending(&self) {
        let mut ending = self.ending.clone();
        if ending.wait_for(|is_set| *is_set).await.is_err() {
            // The process is gone, so that it cannot end.
            std::future::pending::<()>().await;
        }
    }
}
