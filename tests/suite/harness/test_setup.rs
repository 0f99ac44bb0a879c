//! A gateway with a simulated provider.

use super::{Gateway, OpenResponse, Request, Simulator, WholeResponse, config};
use serde_json::Value;

pub struct TestSetup {
    pub gateway: Gateway,
    pub simulator: Simulator,
}

impl TestSetup {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts both with a changed standard configuration.
    pub async fn with(change: impl FnOnce(&mut Value)) -> Self {
        Self::between(|config, _| change(config)).await
    }

    /// Starts both with changes that depend on the simulated provider.
    pub async fn between(change: impl FnOnce(&mut Value, &Simulator)) -> Self {
        let simulator = Simulator::start().await;
        let mut config = config::standard(&simulator.url());
        change(&mut config, &simulator);
        Self {
            gateway: Gateway::start(&config).await,
            simulator,
        }
    }

    pub async fn ask(&self, request: &Request) -> WholeResponse {
        self.gateway.ask(request).await
    }

    pub async fn open(&self, request: &Request) -> OpenResponse {
        self.gateway.open(request).await
    }
}
