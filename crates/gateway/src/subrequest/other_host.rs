//! Subrequests to a host that the provider named for a task, with the channel's credential.
//!
//! The address that the egress policy allowed is the one that is dialled, so that DNS rebinding has no effect.

use crate::Gateway;
use crate::upstream::ChannelWithCredential;
use crate::upstream::client::SendError;
use crate::upstream::request::PreparedRequest;
use crate::upstream::response::UpstreamResponse;
use headgate_channel::retry_policy::SendProgress;
use headgate_core::catalog::base_path::BasePath;
use headgate_core::catalog::channel::{Channel, HttpVersion, Origin, OriginTls};
use headgate_core::catalog::egress::EgressTarget;
use headgate_core::subrequest::SubrequestHost;
use headgate_protocol::fault::{Fault, FaultKind};
use http::HeaderValue;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

/// The maximum number of addresses that are tried.
const ADDRESSES_MAX: usize = 3;

impl Gateway {
    /// Sends a request, which was prepared for the channel, to another host.
    pub(super) async fn send_to_other_host(
        &self,
        host: &SubrequestHost,
        target: ChannelWithCredential<'_>,
        prepared: &PreparedRequest,
        id: &str,
    ) -> Result<UpstreamResponse, SendError> {
        let addresses = self.permitted_addresses(host, target.channel, id).await;
        let addresses = addresses.map_err(SendError::unsent)?;
        let mut unsent = None;
        for address in addresses.into_iter().take(ADDRESSES_MAX) {
            let server = server_at(host, target, address);
            let target = ChannelWithCredential {
                channel: &server,
                credential: None,
            };
            let mut progress = SendProgress::default();
            match self.upstream.send(target, prepared, &mut progress).await {
                Err(error) if error.progress == SendProgress::Unsent => unsent = Some(error),
                sent => return sent,
            }
        }
        Err(unsent.expect("at least one address is permitted"))
    }

    /// The addresses of the host that the policy allows, at least one.
    async fn permitted_addresses(
        &self,
        host: &SubrequestHost,
        channel: &Channel,
        id: &str,
    ) -> Result<Vec<IpAddr>, Fault> {
        let url = &host.url;
        let found = self.upstream.addresses().lookup(&url.host).await;
        let found = found.map_err(|error| {
            let detail = format!("DNS lookup of `{}` failed: {error}", url.host);
            Fault::new(
                FaultKind::Connect,
                "could not connect to the provider; try again",
            )
            .detail(detail)
            .source(error)
        })?;
        let place = EgressTarget {
            is_https: url.is_https,
            host: &url.host,
            port: url.port,
        };
        let permitted = found.iter().copied();
        let permitted: Vec<_> = permitted
            .filter(|address| host.egress.allows(place, *address))
            .collect();
        if permitted.is_empty() {
            let (channel, authority) = (&*channel.name, &*url.authority);
            tracing::warn!(
                channel,
                id,
                host = authority,
                "a task is not queried: `egress` does not allow its host"
            );
            return Err(Fault::new(
                FaultKind::UnreadableResponse,
                "the task is on a host to which this gateway sends no requests; tell the operator of this gateway",
            )
            .detail(format!("`egress` does not allow `{authority}`")));
        }
        Ok(permitted)
    }
}

/// The Host header of requests to the host.
pub(super) fn authority(host: &SubrequestHost) -> HeaderValue {
    let authority = HeaderValue::from_str(&host.url.authority);
    authority.expect("a parsed URL has an authority of visible ASCII")
}

/// The host at one of its addresses, as a server with connections of its own for each credential of the channel.
fn server_at(host: &SubrequestHost, target: ChannelWithCredential<'_>, address: IpAddr) -> Channel {
    let ChannelWithCredential {
        channel,
        credential,
    } = target;
    let url = &host.url;
    let own = channel.origin.tls.as_ref();
    let tls = url.is_https.then(|| OriginTls {
        server_name: url.host.to_string(),
        authorities: own.and_then(|tls| tls.authorities.clone()),
        identity: own.and_then(|tls| tls.identity.clone()),
    });
    let pool = credential.map_or(channel.fingerprint, |credential| credential.fingerprint);
    let mut hasher = DefaultHasher::new();
    (pool, &tls, &url.authority, address).hash(&mut hasher);
    let origin = Origin {
        host: address.to_string().into(),
        port: url.port,
        base_path: BasePath::default(),
        proxy: host.egress.proxy.clone(),
        authority: authority(host),
        http: match &tls {
            Some(_) => channel.origin.http,
            None => HttpVersion::Http1,
        },
        tls,
    };
    let (name, timeouts) = (channel.name.clone(), channel.timeouts);
    Channel {
        mask: channel.mask.clone(),
        ..Channel::for_server(name, origin, timeouts, Vec::new(), hasher.finish())
    }
}
