//! The gateways of a listener's workers: an exchange uses the connections to providers of the worker that runs it.

use crate::Gateway;
use headgate_workers::WorkerPool;
use std::sync::Arc;

/// The workers of the callers' listener, and the gateway of each.
pub struct WorkerGateways {
    pub workers: Arc<WorkerPool>,
    /// By the index of the worker.
    pub gateways: Vec<Arc<Gateway>>,
}

/// The worker of a connection, among all of its listener.
#[derive(Clone)]
pub struct ConnectionWorker {
    pub all: Arc<WorkerGateways>,
    /// Its index, which is below their number.
    pub index: usize,
}

impl WorkerGateways {
    pub fn new(gateway: &Gateway, workers: Arc<WorkerPool>) -> Self {
        let gateways = gateway.for_workers(workers.count());
        Self {
            workers,
            gateways: gateways.into_iter().map(Arc::new).collect(),
        }
    }
}

impl ConnectionWorker {
    /// The gateway of the worker.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.all.gateways[self.index]
    }
}
