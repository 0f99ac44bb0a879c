//! A request for a provider, complete but for the connection that it goes out on.

use super::UpstreamTarget;
use crate::catalog::channel::{Channel, Timeouts};
use crate::filter::body_stream::BodyStream;
use crate::protocol::fault::{Fault, FaultKind};
use crate::protocol::json::edit::BodySegments;
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version, header};
use pingora_core::protocols::http::client::HttpSession;
use pingora_http::RequestHeader;
use std::time::Duration;

/// A request for a provider. It can be sent several times, unless its body is streamed.
pub struct PreparedRequest {
    pub method: Method,
    /// Path and query; the channel's origin names the host.
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: PreparedBody,
    pub timeouts: Timeouts,
    /// Whether it may be sent once more where a pooled connection breaks as soon as it is written to:
    /// nearly always the provider has closed it before, and once in a while it has read the request.
    pub may_repeat: bool,
}

/// The body of a request for a provider.
pub enum PreparedBody {
    /// None, and no Content-Length either.
    Absent,
    /// All of it is in memory, or in a mapped file.
    Whole(BodySegments),
    /// It comes in while it is sent.
    Streamed(BodyStream),
}

impl PreparedRequest {
    /// A request for `target`. Behind `headers` come those of the gateway itself, then the channel's, and
    /// the credential last of all.
    ///
    /// # Errors
    /// [`FaultKind::Internal`]: the path is none that can be sent.
    pub fn new(
        target: UpstreamTarget<'_>,
        request_id: &str,
        method: Method,
        path_and_query: String,
        mut headers: HeaderMap,
        body: PreparedBody,
    ) -> Result<Self, Fault> {
        let channel = target.channel;
        let id = HeaderValue::from_str(request_id).expect("request ids are plain text");
        headers.insert(HeaderName::from_static("x-request-id"), id);
        headers.insert(header::HOST, channel.origin.authority.clone());
        if let Some(bytes) = body.content_length() {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
        }
        for (name, value) in &channel.headers {
            headers.insert(name, value.clone());
        }
        if let Some(credential) = target.credential {
            headers.insert(&credential.name, credential.value.clone());
        }
        Ok(Self {
            method,
            uri: Uri::try_from(path_and_query).map_err(unsendable)?,
            headers,
            body,
            timeouts: channel.timeouts,
            may_repeat: false,
        })
    }

    /// The URL that it goes to on `channel`.
    pub fn url(&self, channel: &Channel) -> String {
        let origin = &channel.origin;
        let authority = origin.authority.to_str().unwrap_or_default();
        format!("{}://{authority}{}", origin.scheme(), self.uri)
    }

    /// The head as `session`'s version of HTTP wants it.
    ///
    /// # Errors
    /// [`FaultKind::Internal`]: the channel's host is none that can be sent.
    pub(super) fn head(
        &self,
        session: &HttpSession,
        channel: &Channel,
    ) -> Result<Box<RequestHeader>, Fault> {
        let (mut parts, ()) = http::Request::new(()).into_parts();
        parts.method = self.method.clone();
        parts.headers = self.headers.clone();
        match session {
            HttpSession::H2(_) => {
                parts.headers.remove(header::HOST);
                parts.version = Version::HTTP_2;
                parts.uri = absolute(self.uri.clone(), channel)?;
            }
            _ => {
                parts.version = Version::HTTP_11;
                parts.uri = self.uri.clone();
                if self.body.has_unknown_length() {
                    let chunked = HeaderValue::from_static("chunked");
                    parts.headers.insert(header::TRANSFER_ENCODING, chunked);
                }
            }
        }
        Ok(Box::new(RequestHeader::from(parts)))
    }
}

impl PreparedBody {
    /// How many bytes the head declares, if it declares any.
    pub fn content_length(&self) -> Option<u64> {
        match self {
            Self::Absent => None,
            Self::Whole(segments) => Some(segments.len() as u64),
            Self::Streamed(stream) => stream.length(),
        }
    }

    /// Whether some of it is gone, so that it cannot be sent from its begin.
    pub(super) fn is_begun(&self) -> bool {
        matches!(self, Self::Streamed(stream) if stream.is_begun())
    }

    /// How long the caller was waited for.
    pub(super) fn waited(&self) -> Duration {
        match self {
            Self::Absent | Self::Whole(_) => Duration::ZERO,
            Self::Streamed(stream) => stream.waited(),
        }
    }

    fn has_unknown_length(&self) -> bool {
        matches!(self, Self::Streamed(stream) if stream.length().is_none())
    }
}

fn absolute(uri: Uri, channel: &Channel) -> Result<Uri, Fault> {
    let mut parts = uri.into_parts();
    parts.scheme = Some(match &channel.origin.tls {
        Some(_) => Scheme::HTTPS,
        None => Scheme::HTTP,
    });
    let authority = Authority::try_from(channel.origin.authority.as_bytes());
    parts.authority = Some(authority.map_err(unsendable)?);
    Uri::from_parts(parts).map_err(unsendable)
}

fn unsendable(error: impl std::error::Error + Send + Sync + 'static) -> Fault {
    Fault::new(
        FaultKind::Internal,
        "the gateway could not build its request",
    )
    .source(error)
}
