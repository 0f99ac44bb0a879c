//! Sends the requests of the media store to the server of its bucket, by the upstream client.
//!
//! The operator names the server, as the base URL of a channel, so that the egress policy does not apply to it.

use super::bounded_body::BodyEnd;
use super::request::{ConnectionReusePolicy, PreparedBody, PreparedRequest};
use super::{ChannelWithCredential, UpstreamClient};
use bytes::Bytes;
use headgate_channel::retry_policy::SendProgress;
use headgate_core::catalog::base_path::BasePath;
use headgate_core::catalog::channel::{Channel, HttpVersion, Origin, OriginTls, Timeouts};
use headgate_core::outgoing::bucket_client::{
    BucketClient, BucketRequestError, BucketResponseFuture,
};
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::edit::BodySegments;
use http::uri::Scheme;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// Largest response: a piece of an object, or a list of a thousand names.
const RESPONSE_BYTES_MAX: usize = 8 << 20;
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    first_byte: Duration::from_secs(30),
    idle: Duration::from_secs(30),
    total: Duration::from_secs(60),
};

/// The client of the media store.
pub struct UpstreamBucketClient(Arc<UpstreamClient>);

impl UpstreamBucketClient {
    pub fn new(upstream: Arc<UpstreamClient>) -> Self {
        Self(upstream)
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, BucketRequestError> {
        let (parts, body) = request.into_parts();
        let server = server_from_uri(&parts.uri)?;
        let mut headers = parts.headers;
        headers.insert(header::HOST, server.origin.authority.clone());
        // Servers require the length of a request with an empty body, too.
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let is_head = parts.method == Method::HEAD;
        let request = PreparedRequest {
            method: parts.method,
            uri: path.parse().map_err(|_| invalid("the path of a request"))?,
            headers,
            body: match body.is_empty() {
                true => PreparedBody::Absent,
                false => PreparedBody::Whole(BodySegments::from(body)),
            },
            timeouts: TIMEOUTS,
            may_repeat: true,
            connection: ConnectionReusePolicy::Pool,
        };
        let target = ChannelWithCredential {
            channel: &server,
            credential: None,
        };
        let mut progress = SendProgress::default();
        let sent = self.0.send(target, &request, &mut progress);
        let mut response = sent.await.map_err(|error| request_error(error.fault))?;
        // A response to HEAD declares the length of a body that it does not have.
        let bytes_max = if is_head { 0 } else { RESPONSE_BYTES_MAX };
        let content = response.read_bounded(bytes_max).await;
        let mut received = Response::new(content.bytes);
        *received.status_mut() = response.status;
        *received.headers_mut() = response.headers().clone();
        match content.end {
            BodyEnd::Complete => {
                response.give_back().await;
                Ok(received)
            }
            BodyEnd::TooLong => Err(invalid("the length of a response")),
            BodyEnd::Broken(fault) => Err(request_error(fault)),
        }
    }
}

impl BucketClient for UpstreamBucketClient {
    fn send(&self, request: Request<Bytes>) -> BucketResponseFuture<'_> {
        Box::pin(self.send(request))
    }
}

/// The server that a URI names, as the upstream client knows servers.
fn server_from_uri(uri: &Uri) -> Result<Channel, BucketRequestError> {
    let authority = uri.authority().ok_or_else(|| invalid("the endpoint"))?;
    let is_https = uri.scheme() == Some(&Scheme::HTTPS);
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    let value = HeaderValue::from_str(authority.as_str());
    let mut hasher = DefaultHasher::new();
    ("media bucket", is_https, authority.as_str()).hash(&mut hasher);
    let origin = Origin {
        host: host.into(),
        port: authority
            .port_u16()
            .unwrap_or(if is_https { 443 } else { 80 }),
        base_path: BasePath::default(),
        proxy: None,
        authority: value.map_err(|_| invalid("the host of the endpoint"))?,
        // Any thread may use a pooled connection.
        http: HttpVersion::Http1,
        tls: is_https.then(|| OriginTls {
            server_name: host.to_owned(),
            authorities: None,
            identity: None,
        }),
    };
    let fingerprint = hasher.finish();
    Ok(Channel::for_server(
        "media".into(),
        origin,
        TIMEOUTS,
        Vec::new(),
        fingerprint,
    ))
}

fn request_error(fault: Fault) -> BucketRequestError {
    let kind = fault.kind;
    let reason = fault.into_reason();
    match kind {
        FaultKind::Connect => BucketRequestError::Connect(reason),
        FaultKind::UpstreamTimeout => BucketRequestError::Timeout(reason),
        _ => BucketRequestError::Broken(reason),
    }
}

fn invalid(what: &str) -> BucketRequestError {
    BucketRequestError::Broken(format!("{what} is invalid"))
}
