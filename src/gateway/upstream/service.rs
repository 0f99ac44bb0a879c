//! Sends the calls of services, by the upstream client.
//!
//! The operator names the server, as the base URL of a channel, so that the egress policy does not apply to it.

use super::body_kind::body_kind_of;
use super::bounded_body::BodyEnd;
use super::client::SendProgress;
use super::request::{PreparedBody, PreparedRequest};
use super::{ChannelWithCredential, UpstreamClient};
use crate::callout::{
    SERVICE_RESPONSE_BYTES_MAX, ServiceCallError, ServiceClient, ServiceRequest,
    ServiceResponseFuture,
};
use crate::catalog::channel::Timeouts;
use crate::filter::view::ResponseBodyKind;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::edit::BodySegments;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use std::sync::Arc;

/// The client for services.
pub struct UpstreamServiceClient(Arc<UpstreamClient>);

impl UpstreamServiceClient {
    pub fn new(upstream: Arc<UpstreamClient>) -> Self {
        Self(upstream)
    }

    async fn send(&self, request: ServiceRequest<'_>) -> Result<Bytes, ServiceCallError> {
        let ServiceRequest {
            endpoint,
            id,
            body,
            within,
        } = request;
        let target = ChannelWithCredential {
            channel: &endpoint.server,
            credential: None,
        };
        let body = PreparedBody::Whole(BodySegments::from(body));
        let path = endpoint.path.clone();
        let prepared = PreparedRequest::new(target, id, Method::POST, path, headers(), body);
        let prepared = PreparedRequest {
            timeouts: Timeouts {
                connect: within,
                first_byte: within,
                idle: within,
                total: within,
            },
            // A service that decides about the same content twice does no harm.
            may_repeat: true,
            ..prepared.map_err(call_error)?
        };
        let mut progress = SendProgress::default();
        let sent = self.0.send(target, &prepared, &mut progress);
        let mut response = sent.await.map_err(|error| call_error(error.fault))?;
        if response.status != StatusCode::OK {
            let status = response.status;
            response.discard().await;
            return Err(invalid(format!(
                "the service responded with status {status}"
            )));
        }
        if body_kind_of(response.headers()) != ResponseBodyKind::Json {
            response.discard().await;
            return Err(invalid("the response is not application/json"));
        }
        let content = response.read_bounded(SERVICE_RESPONSE_BYTES_MAX).await;
        match content.end {
            BodyEnd::Complete => {
                response.give_back().await;
                Ok(content.bytes)
            }
            BodyEnd::TooLong => {
                response.discard().await;
                Err(invalid(format!(
                    "the response has more than {SERVICE_RESPONSE_BYTES_MAX} bytes"
                )))
            }
            BodyEnd::Broken(fault) => Err(call_error(fault)),
        }
    }
}

impl ServiceClient for UpstreamServiceClient {
    fn post<'a>(&'a self, request: ServiceRequest<'a>) -> ServiceResponseFuture<'a> {
        Box::pin(self.send(request))
    }
}

fn headers() -> HeaderMap {
    let json = HeaderValue::from_static("application/json");
    HeaderMap::from_iter([
        (header::CONTENT_TYPE, json.clone()),
        (header::ACCEPT, json),
        (
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        ),
    ])
}

fn call_error(fault: Fault) -> ServiceCallError {
    let kind = fault.kind;
    let reason = fault.detail.unwrap_or(fault.message);
    match kind {
        FaultKind::Connect => ServiceCallError::Connect(reason),
        FaultKind::UpstreamTimeout => ServiceCallError::Timeout(reason),
        _ => ServiceCallError::ConnectionClosed(reason),
    }
}

fn invalid(reason: impl Into<String>) -> ServiceCallError {
    ServiceCallError::InvalidResponse(reason.into())
}
