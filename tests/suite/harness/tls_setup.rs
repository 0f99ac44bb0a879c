//! A gateway with TLS and a simulated provider, and HTTP/2 clients.

use super::certificates::Authority;
use super::folder::Folder;
use super::gateway::folder_with_schemas;
use super::{Gateway, Http2, Simulator, config};
use serde_json::Value;

pub struct TlsTestSetup {
    pub gateway: Gateway,
    pub simulator: Simulator,
    pub authority: Authority,
}

impl TlsTestSetup {
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts with a changed configuration.
    pub async fn start_with(change: impl FnOnce(&mut Value)) -> Self {
        Self::start_in(folder_with_schemas(), change).await
    }

    /// Starts in a folder that has the schemas, with a changed configuration.
    pub async fn start_in(folder: Folder, change: impl FnOnce(&mut Value)) -> Self {
        let (simulator, authority) = (Simulator::start().await, Authority::new());
        let mut config = config::standard(&simulator.url());
        config["server"]["tls"] = authority.server().write(&folder, "server");
        change(&mut config);
        Self {
            gateway: Gateway::start_in(folder, &config.to_string()).await,
            simulator,
            authority,
        }
    }

    pub async fn connect(&self) -> Http2 {
        let address = self.gateway.address;
        let stream = self.authority.connect(address, &["h2"], None).await;
        Http2::over(stream.unwrap()).await
    }
}
