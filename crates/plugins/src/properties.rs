//! The properties of an exchange that plugins read, by Envoy's names where they have a meaning here, and by ours.

use headgate_core::request_id::RequestId;
use headgate_wasm::{PropertySource, PropertyValue};
use std::net::IpAddr;
use std::sync::Arc;

/// What the gateway knows of an exchange beyond its messages.
#[derive(Clone, Debug)]
pub struct ExchangeProperties {
    /// `request.id`, `x_request_id`
    pub id: RequestId,
    /// `source.address`, `client.address`
    pub client: Option<IpAddr>,
    /// `xds.route_name`, `route_name`, `route`
    pub route: Arc<str>,
    /// `caller`
    pub caller: Option<Arc<str>>,
    /// `model`: the name that the caller used.
    pub model: Option<Arc<str>>,
    /// `xds.cluster_name`, `cluster_name`, `channel`: the channel that the response came from.
    pub channel: Option<Arc<str>>,
    /// `protocol`: the protocol of the route, such as `chat`.
    pub protocol: Option<&'static str>,
    /// `attempt`: the number of the attempt that the response came from, from 1.
    pub attempt: u32,
}

impl PropertySource for ExchangeProperties {
    fn property(&self, path: &[&str]) -> Option<PropertyValue> {
        let text = |text: &str| Some(PropertyValue::Text(text.to_string()));
        match path {
            ["request", "id"] | ["x_request_id"] => text(&self.id),
            ["source" | "client", "address"] => Some(PropertyValue::Text(self.client?.to_string())),
            ["xds", "route_name"] | ["route_name" | "route"] => text(&self.route),
            ["caller"] => text(self.caller.as_ref()?),
            ["model"] => text(self.model.as_ref()?),
            ["xds", "cluster_name"] | ["cluster_name" | "channel"] => text(self.channel.as_ref()?),
            ["protocol"] => Some(PropertyValue::Text(self.protocol?.to_owned())),
            ["attempt"] => Some(PropertyValue::Int(self.attempt.into())),
            _ => None,
        }
    }
}
