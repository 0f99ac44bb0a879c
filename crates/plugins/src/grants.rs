//! The parts of messages that a plugin sees only if the operator grants them: credentials, and what callers do not get.

use headgate_protocol::credential_names::names_credential;
use headgate_protocol::header_policy::query_without_credentials;
use http::{HeaderMap, HeaderName, header};
use std::borrow::Cow;

/// Headers that describe the connection or the body. They cannot be granted.
const NEVER_GRANTED: [HeaderName; 10] = [
    header::CONNECTION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// What the operator grants to a plugin of the messages of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WithheldPartGrants {
    /// Headers of requests that carry credentials. The plugin sees and changes them.
    pub request_headers: Vec<HeaderName>,
    /// Members of the query that carry credentials.
    pub query: Vec<String>,
    /// Headers of responses that do not reach callers. They do if the plugin leaves them there.
    pub response_headers: Vec<HeaderName>,
}

impl WithheldPartGrants {
    /// Whether the plugin neither sees nor sets a header of requests.
    pub fn hides(&self, name: &HeaderName) -> bool {
        names_credential(name.as_str().as_bytes()) && !self.request_headers.contains(name)
    }

    /// The path and the query as the plugin sees them; `headers` are the request's.
    pub fn visible_path(&self, path: &str, query: Option<&str>, headers: &HeaderMap) -> String {
        match query {
            None | Some("") => path.to_owned(),
            Some(query) => format!("{path}?{}", self.visible_query(query, headers)),
        }
    }

    /// Whether a header can be granted.
    pub fn may_grant(name: &HeaderName) -> bool {
        !NEVER_GRANTED.contains(name)
    }

    fn visible_query<'q>(&self, query: &'q str, headers: &HeaderMap) -> Cow<'q, str> {
        query_without_credentials(query, headers, &self.query)
    }
}
