//! Checks of servers that the configuration names, step by step: name, connection, and a request that costs nothing.

use super::probe::model_list_request;
use super::upstream::bounded_body::BodyEnd;
use super::upstream::client::SendError;
use super::upstream::service::UpstreamCalloutClient;
use super::upstream::{ChannelWithCredential, UpstreamClient};
use super::{addresses, request_id};
use bytes::Bytes;
use headgate_channel::address_cache::DnsRefreshPolicy;
use headgate_channel::retry_policy::SendProgress;
use headgate_config::snapshot::server::DnsSettings;
use headgate_core::catalog::channel::Channel;
use headgate_core::catalog::credential::Credential;
use headgate_core::credentials::credential_registry::CredentialRegistry;
use headgate_credentials::refresh as credential_refresh;
use headgate_observe::metrics::Metrics;
use headgate_protocol::fault::FaultKind;
use http::StatusCode;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Maximum number of bytes of a list of models that are read.
const LIST_BYTES_MAX: usize = 4 << 20;

/// Connects to servers, for a process that runs no gateway.
pub struct ConnectivityChecker {
    upstream: Arc<UpstreamClient>,
    step_timeout: Duration,
}

/// A step that failed; no message has a secret.
#[derive(Debug, thiserror::Error)]
pub enum ConnectivityError {
    #[error("cannot resolve {host}: {reason}")]
    Resolve { host: Arc<str>, reason: String },
    #[error("cannot connect to {host}:{port}: {reason}")]
    Connect {
        host: Arc<str>,
        port: u16,
        reason: String,
    },
    #[error("no TLS with {host}: {reason}")]
    Tls { host: Arc<str>, reason: String },
    #[error("no connection to {host} through the proxy: {reason}")]
    Proxy { host: Arc<str>, reason: String },
    #[error("{0}")]
    Credential(String),
    #[error("no response to GET {path}: {reason}")]
    Response { path: String, reason: String },
}

/// The response to a request for the list of models.
pub struct RawModelListResponse {
    pub status: StatusCode,
    /// Empty if it could not be read as a whole.
    pub body: Bytes,
}

impl ConnectivityChecker {
    /// `step_timeout` is that of each step.
    pub fn new(dns: &DnsSettings, step_timeout: Duration) -> Self {
        let addresses = addresses(
            dns,
            Arc::new(Metrics::default()),
            DnsRefreshPolicy::default(),
        );
        Self {
            upstream: Arc::new(UpstreamClient::new(addresses)),
            step_timeout,
        }
    }

    /// Fetches the credentials that servers issue, which nothing does in the background here.
    pub async fn fetch_credentials(&self, registry: &CredentialRegistry) {
        let client = UpstreamCalloutClient::new(self.upstream.clone());
        for known in registry.in_use() {
            credential_refresh::fetch(&known, &client).await;
        }
    }

    /// Resolves the host of `channel` and connects to the first of its addresses that accepts, with TLS if it has it.
    ///
    /// # Errors
    /// The name has no address, no address accepts, or the TLS handshake fails.
    pub async fn connect(&self, channel: &Channel) -> Result<(), ConnectivityError> {
        self.connect_tcp(channel).await?;
        if channel.origin.tls.is_none() && channel.origin.proxy.is_none() {
            return Ok(());
        }
        let target = ChannelWithCredential {
            channel,
            credential: None,
        };
        let opened = self.upstream.open(target, self.step_timeout).await;
        opened.map_err(|fault| {
            let (host, reason) = (channel.origin.host.clone(), fault.into_reason());
            match &channel.origin.proxy {
                None => ConnectivityError::Tls { host, reason },
                Some(_) => ConnectivityError::Proxy { host, reason },
            }
        })
    }

    /// Requests the list of models with `credential`, which no provider charges for: below the base URL, or at another
    /// path of the provider.
    ///
    /// # Errors
    /// There is no response.
    pub async fn list_models(
        &self,
        channel: &Channel,
        credential: Option<&Credential>,
        path: Option<String>,
    ) -> Result<RawModelListResponse, ConnectivityError> {
        let target = ChannelWithCredential {
            channel,
            credential,
        };
        let request = model_list_request(target, path, &request_id::new(), self.step_timeout)
            .map_err(|fault| match fault.kind {
                FaultKind::NoCredential => ConnectivityError::Credential(fault.into_reason()),
                _ => no_response("/models", &fault.into_reason()),
            })?;
        let path = request.uri.path().to_owned();
        let mut progress = SendProgress::default();
        let sent = self.upstream.send(target, &request, &mut progress).await;
        let mut response =
            sent.map_err(|SendError { fault, .. }| no_response(&path, &fault.into_reason()))?;
        let status = response.status;
        let body = response.read_bounded(LIST_BYTES_MAX).await;
        let body = match body.end {
            BodyEnd::Complete => body.bytes,
            BodyEnd::TooLong | BodyEnd::Broken(_) => Bytes::new(),
        };
        response.discard().await;
        Ok(RawModelListResponse { status, body })
    }

    async fn connect_tcp(&self, channel: &Channel) -> Result<(), ConnectivityError> {
        let (host, port) = channel.origin.next_hop();
        let addresses = self.upstream.addresses();
        let resolved = timeout(self.step_timeout, addresses.lookup(host)).await;
        let resolved = resolved
            .map_err(|_| self.no_end())
            .and_then(|resolved| resolved.map_err(|error| error.to_string()));
        let resolved = resolved.map_err(|reason| ConnectivityError::Resolve {
            host: host.clone(),
            reason,
        })?;
        let all: Vec<SocketAddr> = resolved
            .iter()
            .map(|address| SocketAddr::new(*address, port))
            .collect();
        let connected = timeout(self.step_timeout, TcpStream::connect(&*all)).await;
        let connected = connected
            .map_err(|_| self.no_end())
            .and_then(|connected| connected.map_err(|error| error.to_string()));
        connected
            .map(drop)
            .map_err(|reason| ConnectivityError::Connect {
                host: host.clone(),
                port,
                reason,
            })
    }

    fn no_end(&self) -> String {
        format!("nothing within {:?}", self.step_timeout)
    }
}

fn no_response(path: &str, reason: &str) -> ConnectivityError {
    ConnectivityError::Response {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}
