//! A simulated provider with a gateway before it.

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

    /// With changes to the standard configuration.
    pub async fn with(change: impl FnOnce(&mut Value)) -> Self {
        Self::between(|config, _| change(config)).await
    }

    /// With changes that name the simulated provider.
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
