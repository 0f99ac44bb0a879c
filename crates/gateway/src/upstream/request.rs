//! A request to a provider, complete except for the connection.

use super::ChannelWithCredential;
use super::request_head::RequestHead;
use headgate_core::catalog::channel::{Channel, Timeouts};
use headgate_core::catalog::credential::{Credential, SignableBody, SignableRequest, SigningError};
use headgate_core::filter::body_stream::RequestBodyReceiver;
use headgate_core::request_id::RequestId;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::header_values::decimal_value;
use headgate_protocol::json::edit::BodySegments;
use http::uri::Scheme;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use std::time::Duration;

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A request to a provider. It can be sent several times, unless its body streams.
pub struct PreparedRequest {
    pub method: Method,
    /// Path and query; scheme and host are in the channel's origin.
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: PreparedBody,
    pub timeouts: Timeouts,
    /// Whether the request may be repeated if a pooled connection fails as soon as it is written to. In nearly all
    /// cases the provider had closed the connection before; rarely it has read the request.
    pub may_repeat: bool,
    /// Where to get the connection. A request that must not be sent twice needs a fresh one: whether a provider has read
    /// a request on a connection that then breaks is unknown.
    pub connection: ConnectionReusePolicy,
}

/// The body of a request to a provider.
pub enum PreparedBody {
    /// No body, and no `content-length` header.
    Absent,
    /// The whole body, in memory or in a mapped file.
    Whole(BodySegments),
    /// The body arrives while it is sent.
    Streamed(RequestBodyReceiver),
}

/// Where to get a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ConnectionReusePolicy {
    /// From the pool if it has one, otherwise a new connection.
    Pool,
    /// A new connection: the provider may have closed a pooled one, or may reset it when it is used again.
    Fresh,
    /// A new connection of HTTP/1.1, whose response may switch to another protocol.
    FreshHttp1,
}

impl ConnectionReusePolicy {
    /// Allows new connections only.
    pub fn require_fresh(&mut self) {
        if *self == Self::Pool {
            *self = Self::Fresh;
        }
    }
}

impl PreparedRequest {
    /// A request for `target`. The gateway's own headers are set after `headers`, then the channel's headers; last, the
    /// request is signed with the credential. Without a `request_id`, that of `headers` stays, if there is one.
    ///
    /// # Errors
    /// [`FaultKind::Internal`]: the path is not a valid URI, or the request cannot be signed. [`FaultKind::NoCredential`]:
    /// there is no credential now.
    pub fn new(
        target: ChannelWithCredential<'_>,
        request_id: Option<&RequestId>,
        method: Method,
        path_and_query: String,
        mut headers: HeaderMap,
        body: PreparedBody,
    ) -> Result<Self, Fault> {
        let channel = target.channel;
        if let Some(id) = request_id {
            headers.insert(X_REQUEST_ID, id.header_value());
        }
        headers.insert(header::HOST, channel.origin.authority.clone());
        if let Some(bytes) = body.content_length() {
            headers.insert(header::CONTENT_LENGTH, decimal_value(bytes));
        }
        for (name, value) in &channel.headers {
            headers.insert(name, value.clone());
        }
        let uri = Uri::try_from(path_and_query).map_err(unsendable)?;
        let connection = match body {
            PreparedBody::Absent | PreparedBody::Whole(_) => ConnectionReusePolicy::Pool,
            PreparedBody::Streamed(_) => ConnectionReusePolicy::Fresh,
        };
        let mut prepared = Self {
            method,
            uri,
            headers,
            body,
            timeouts: channel.timeouts,
            may_repeat: false,
            connection,
        };
        prepared.sign(target.credential)?;
        Ok(prepared)
    }

    /// The request for another host than the channel's, signed for that one.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn for_host(
        mut self,
        host: HeaderValue,
        credential: Option<&Credential>,
    ) -> Result<Self, Fault> {
        self.headers.insert(header::HOST, host);
        self.sign(credential)?;
        Ok(self)
    }

    fn sign(&mut self, credential: Option<&Credential>) -> Result<(), Fault> {
        let Some(credential) = credential else {
            return Ok(());
        };
        let request = SignableRequest {
            method: &self.method,
            target: &self.uri,
            headers: &mut self.headers,
            body: self.body.signable(),
        };
        credential.signer.sign(request).map_err(signing_fault)
    }

    /// The URL of the request on `channel`, with secrets of its query masked.
    pub fn shown_url(&self, channel: &Channel) -> String {
        let origin = &channel.origin;
        let authority = origin.authority.to_str().unwrap_or_default();
        let target = self.uri.to_string();
        format!(
            "{}://{authority}{}",
            origin.scheme(),
            channel.query.masked(&target)
        )
    }

    /// The head of the request on `channel`.
    pub(super) fn head<'r>(&'r self, channel: &'r Channel) -> RequestHead<'r> {
        RequestHead {
            method: &self.method,
            target: &self.uri,
            headers: &self.headers,
            scheme: match &channel.origin.tls {
                Some(_) => Scheme::HTTPS,
                None => Scheme::HTTP,
            },
            authority: &channel.origin.authority,
            has_unknown_length: self.body.has_unknown_length(),
        }
    }
}

fn signing_fault(error: SigningError) -> Fault {
    match error {
        SigningError::StreamedBody | SigningError::Unsignable(_) => {
            let reason = format!("the gateway could not sign its request: {error}");
            Fault::new(FaultKind::Internal, reason)
        }
        SigningError::Unavailable(_) => Fault::new(
            FaultKind::NoCredential,
            "the gateway has no valid credential for the provider; try again, or tell the operator of this gateway",
        )
        .detail(error.to_string()),
    }
}

impl PreparedBody {
    /// The declared length in bytes; `None` for a chunked body or none.
    pub fn content_length(&self) -> Option<u64> {
        match self {
            Self::Absent => None,
            Self::Whole(segments) => Some(segments.len() as u64),
            Self::Streamed(stream) => stream.length(),
        }
    }

    fn signable(&self) -> SignableBody<'_> {
        match self {
            Self::Absent => SignableBody::Absent,
            Self::Whole(segments) => SignableBody::Whole(segments),
            Self::Streamed(_) => SignableBody::Streamed,
        }
    }

    /// Whether part of the body is already consumed, so that it cannot be sent from its start.
    pub(super) fn is_begun(&self) -> bool {
        matches!(self, Self::Streamed(stream) if stream.is_begun())
    }

    /// How long sending the body waited for the caller.
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

fn unsendable(error: impl std::error::Error + Send + Sync + 'static) -> Fault {
    Fault::new(
        FaultKind::Internal,
        "the gateway could not build its request",
    )
    .source(error)
}
