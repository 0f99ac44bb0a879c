//! Sends the calls of services, by the upstream client.
//!
//! The operator names the server, as the base URL of a channel, so that the egress policy does not apply to it.

use super::body_kind::response_body_kind;
use super::bounded_body::BodyEnd;
use super::request::{PreparedBody, PreparedRequest};
use super::{ChannelWithCredential, UpstreamClient};
use headgate_channel::retry_policy::SendProgress;
use headgate_core::callout::{
    ServiceCallError, ServiceClient, ServiceHttpRequest, ServiceRequest, ServiceResponse,
    ServiceResponseFuture,
};
use headgate_core::catalog::channel::Timeouts;
use headgate_core::filter::view::ResponseBodyKind;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::BodySegments;
use http::{HeaderValue, header};
use std::sync::Arc;

/// The client for services.
pub struct UpstreamCalloutClient(Arc<UpstreamClient>);

impl UpstreamCalloutClient {
    pub fn new(upstream: Arc<UpstreamClient>) -> Self {
        Self(upstream)
    }

    async fn call(&self, request: ServiceRequest<'_>) -> Result<ServiceResponse, ServiceCallError> {
        let ServiceRequest {
            endpoint,
            id,
            content,
            may_repeat,
            within,
            response_bytes_max,
        } = request;
        let ServiceHttpRequest {
            method,
            path,
            mut headers,
            body,
        } = content;
        let identity = HeaderValue::from_static("identity");
        headers.insert(header::ACCEPT_ENCODING, identity);
        let target = ChannelWithCredential {
            channel: &endpoint.server,
            credential: None,
        };
        let body = PreparedBody::Whole(BodySegments::from(body));
        let prepared = PreparedRequest::new(target, id, method, path, headers, body);
        let prepared = PreparedRequest {
            timeouts: Timeouts {
                connect: within,
                first_byte: within,
                idle: within,
                total: within,
            },
            may_repeat,
            ..prepared.map_err(call_error)?
        };
        let mut progress = SendProgress::default();
        let sent = self.0.send(target, &prepared, &mut progress);
        let mut response = sent.await.map_err(|error| call_error(error.fault))?;
        let (status, headers) = (response.status, response.headers().clone());
        let content = response.read_bounded(response_bytes_max).await;
        match content.end {
            BodyEnd::Complete => {
                response.give_back().await;
                Ok(ServiceResponse {
                    status,
                    is_json: response_body_kind(&headers, false) == ResponseBodyKind::Json,
                    headers,
                    body: content.bytes,
                })
            }
            BodyEnd::TooLong => {
                response.discard().await;
                Err(ServiceCallError::InvalidResponse(format!(
                    "the response has more than {response_bytes_max} bytes"
                )))
            }
            BodyEnd::Broken(fault) => Err(call_error(fault)),
        }
    }
}

impl ServiceClient for UpstreamCalloutClient {
    fn send<'a>(&'a self, request: ServiceRequest<'a>) -> ServiceResponseFuture<'a> {
        Box::pin(self.call(request))
    }
}

fn call_error(fault: Fault) -> ServiceCallError {
    let kind = fault.kind;
    let reason = fault.into_reason();
    match kind {
        FaultKind::Connect => ServiceCallError::Connect(reason),
        FaultKind::UpstreamTimeout => ServiceCallError::Timeout(reason),
        _ => ServiceCallError::ConnectionClosed(reason),
    }
}
