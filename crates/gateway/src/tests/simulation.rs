//! A gateway on simulated sockets: tests run whole gateways on one thread, in virtual time.

use crate::Gateway;
use crate::background_service::BackgroundWorkService;
use crate::downstream::http1::connection::serve_connection;
use crate::listen::worker_gateways::{ConnectionWorker, WorkerGateways};
use crate::service::GatewayClientConnection;
use crate::simulated_network::{SimulatedSocket, stream};
use headgate_core::feature::background::BackgroundWork;
use headgate_workers::WorkerPool;
use pingora_core::apps::HttpServerOptions;
use pingora_core::services::background::BackgroundService;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// A gateway on the thread of its caller.
pub struct SimulatedGateway {
    worker: ConnectionWorker,
    options: Arc<HttpServerOptions>,
    closing: watch::Sender<bool>,
}

impl SimulatedGateway {
    /// # Errors
    /// Never: a pool without workers starts no thread.
    pub fn new(gateway: Gateway) -> io::Result<Self> {
        let all = WorkerGateways {
            workers: Arc::new(WorkerPool::start("simulation", 0)?),
            gateways: vec![Arc::new(gateway)],
        };
        Ok(Self {
            worker: ConnectionWorker {
                all: Arc::new(all),
                index: 0,
            },
            options: Arc::default(),
            closing: watch::Sender::new(false),
        })
    }

    /// Serves a caller's connection of HTTP/1.1 to its end.
    pub fn serve(
        &self,
        socket: impl SimulatedSocket,
        peer: SocketAddr,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (worker, options) = (self.worker.clone(), self.options.clone());
        let closing = self.closing.subscribe();
        async move {
            let connection = GatewayClientConnection::new(worker, options, Some(peer));
            let stream = stream(Box::new(socket));
            serve_connection(connection.into_http1(), stream, &closing).await;
        }
    }

    /// Runs the work of features in the background until it is dropped.
    pub fn run_background(
        &self,
        works: Vec<BackgroundWork>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let service = BackgroundWorkService::new(self.worker.gateway().clone(), works);
        let closing = self.closing.subscribe();
        async move { service.start(closing).await }
    }
}
