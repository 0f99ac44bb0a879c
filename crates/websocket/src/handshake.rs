//! The opening handshake of a WebSocket, as a server reads and accepts it (RFC 6455, section 4.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headgate_protocol::digits::parse_digits;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// What is hashed behind the key of a handshake (RFC 6455, section 1.3).
const ACCEPT_SUFFIX: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The version of the protocol (RFC 6455, section 4.1).
const VERSION: &str = "13";
/// Number of bytes of a key, before its Base64.
const KEY_BYTES: usize = 16;

/// A handshake that can be accepted.
#[derive(Debug, PartialEq, Eq)]
pub struct WebSocketHandshake {
    accept: HeaderValue,
    /// The subprotocol to select; `None` to select none.
    subprotocol: Option<HeaderValue>,
}

/// Why a handshake cannot be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    #[error("a WebSocket handshake needs the header `connection: upgrade`")]
    Connection,
    #[error("header `sec-websocket-version` must be 13; no other version is supported")]
    Version,
    #[error("header `sec-websocket-key` must be one value of 16 bytes in Base64")]
    Key,
    #[error(
        "a WebSocket handshake must not have a body; send no `content-length` and no `transfer-encoding`"
    )]
    Body,
}

/// Whether a request asks for a WebSocket. HTTP/2 has no upgrades.
pub fn asks_for_websocket(head: &Parts) -> bool {
    head.method == Method::GET
        && head.version == Version::HTTP_11
        && has_token(&head.headers, &header::UPGRADE, |protocol| {
            let name = protocol.split('/').next().unwrap_or_default();
            name.trim().eq_ignore_ascii_case("websocket")
        })
}

impl WebSocketHandshake {
    /// Reads the handshake of a request that [asks for a WebSocket](asks_for_websocket).
    ///
    /// # Errors
    /// A field of it is missing or malformed.
    pub fn read(head: &Parts) -> Result<Self, HandshakeError> {
        let headers = &head.headers;
        let is_upgrade = |option: &str| option.trim().eq_ignore_ascii_case("upgrade");
        if !has_token(headers, &header::CONNECTION, is_upgrade) {
            return Err(HandshakeError::Connection);
        }
        if single(headers, &header::SEC_WEBSOCKET_VERSION) != Some(VERSION.as_bytes()) {
            return Err(HandshakeError::Version);
        }
        let length = headers.get(header::CONTENT_LENGTH);
        let is_empty = length.is_none_or(|length| parse_digits(length.as_bytes()) == Some(0));
        if !is_empty || headers.contains_key(header::TRANSFER_ENCODING) {
            return Err(HandshakeError::Body);
        }
        let key = single(headers, &header::SEC_WEBSOCKET_KEY).ok_or(HandshakeError::Key)?;
        let decoded = STANDARD.decode(key).map_err(|_| HandshakeError::Key)?;
        if decoded.len() != KEY_BYTES {
            return Err(HandshakeError::Key);
        }
        let accept = HeaderValue::from_str(&accept_value(key));
        let accept = accept.map_err(|_| HandshakeError::Key)?;
        Ok(Self {
            accept,
            subprotocol: None,
        })
    }

    /// Selects a subprotocol that the client has offered.
    pub fn select_subprotocol(&mut self, name: &'static str) {
        self.subprotocol = Some(HeaderValue::from_static(name));
    }

    /// The fields of the 101 (Switching Protocols), except `connection`. No extension is selected.
    pub fn response_headers(&self) -> HeaderMap {
        let websocket = HeaderValue::from_static("websocket");
        let subprotocol = self.subprotocol.clone().into_iter();
        [
            (header::UPGRADE, websocket),
            (header::SEC_WEBSOCKET_ACCEPT, self.accept.clone()),
        ]
        .into_iter()
        .chain(subprotocol.map(|name| (header::SEC_WEBSOCKET_PROTOCOL, name)))
        .collect()
    }
}

impl HandshakeError {
    /// The fields of a refusal beside the usual ones.
    pub fn response_headers(self) -> HeaderMap {
        match self {
            // RFC 6455, section 4.4.
            Self::Version => {
                let version = HeaderValue::from_static(VERSION);
                [(header::SEC_WEBSOCKET_VERSION, version)]
                    .into_iter()
                    .collect()
            }
            _ => HeaderMap::new(),
        }
    }
}

/// The fields that belong to a handshake alone; requests that are made of its head do not have them.
pub fn remove_handshake_fields(headers: &mut HeaderMap) {
    let options = headers.get_all(header::CONNECTION).iter();
    let options = options.filter_map(|line| line.to_str().ok());
    let options = options.flat_map(|line| line.split(','));
    // Fields that are for this connection alone (RFC 9110, section 7.6.1).
    let nominated: Vec<HeaderName> = options
        .filter_map(|option| option.trim().parse().ok())
        .collect();
    for name in nominated {
        headers.remove(name);
    }
    for name in [
        header::CONNECTION,
        header::UPGRADE,
        header::SEC_WEBSOCKET_KEY,
        header::SEC_WEBSOCKET_VERSION,
        header::SEC_WEBSOCKET_EXTENSIONS,
        header::SEC_WEBSOCKET_PROTOCOL,
        header::CONTENT_LENGTH,
    ] {
        headers.remove(name);
    }
}

/// What a server sends back for a key (RFC 6455, section 4.2.2).
pub(crate) fn accept_value(key: &[u8]) -> String {
    STANDARD.encode(digest(
        &SHA1_FOR_LEGACY_USE_ONLY,
        &[key, ACCEPT_SUFFIX].concat(),
    ))
}

/// Whether the list in a field, which may be on several lines, has a token.
pub(crate) fn has_token(
    headers: &HeaderMap,
    name: &HeaderName,
    is_token: impl Fn(&str) -> bool,
) -> bool {
    let lines = headers.get_all(name).iter();
    let mut lists = lines.filter_map(|line| line.to_str().ok());
    lists.any(|list| list.split(',').any(&is_token))
}

/// The value of a field that must be on one line.
pub(crate) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (Some(value), None) => Some(value.as_bytes()),
        _ => None,
    }
}
