//! The opening handshake of a WebSocket at a provider (RFC 6455, section 4.1).

use crate::handshake::{accept_value, has_token, single};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};

/// A handshake that the gateway makes as a client.
#[derive(Clone, Debug)]
pub struct ProviderHandshake {
    key: HeaderValue,
}

/// Why a provider's 101 (Switching Protocols) opens no WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAcceptance {
    #[error("the provider switches to another protocol than WebSocket")]
    Protocol,
    #[error("`sec-websocket-accept` of the provider is not that of the key")]
    Accept,
    #[error("the provider selects an extension that was not offered")]
    Extension,
    #[error("the provider selects a subprotocol that was not offered")]
    Subprotocol,
}

impl ProviderHandshake {
    /// A handshake with a random key.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)?;
        let key = HeaderValue::from_str(&STANDARD.encode(random));
        Ok(Self {
            key: key.expect("Base64 is ASCII"),
        })
    }

    /// The fields of the request; no extension and no subprotocol is offered.
    pub fn request_headers(&self) -> HeaderMap {
        [
            (header::CONNECTION, HeaderValue::from_static("Upgrade")),
            (header::UPGRADE, HeaderValue::from_static("websocket")),
            (
                header::SEC_WEBSOCKET_VERSION,
                HeaderValue::from_static("13"),
            ),
            (header::SEC_WEBSOCKET_KEY, self.key.clone()),
        ]
        .into_iter()
        .collect()
    }

    /// Checks the fields of a provider's 101.
    ///
    /// # Errors
    /// What follows is no WebSocket, or none of this handshake.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), InvalidAcceptance> {
        let is_websocket = |name: &str| name.trim().eq_ignore_ascii_case("websocket");
        let is_upgrade = |name: &str| name.trim().eq_ignore_ascii_case("upgrade");
        if !has_token(headers, &header::UPGRADE, is_websocket)
            || !has_token(headers, &header::CONNECTION, is_upgrade)
        {
            return Err(InvalidAcceptance::Protocol);
        }
        let expected = accept_value(self.key.as_bytes());
        if single(headers, &header::SEC_WEBSOCKET_ACCEPT) != Some(expected.as_bytes()) {
            return Err(InvalidAcceptance::Accept);
        }
        if headers.contains_key(header::SEC_WEBSOCKET_EXTENSIONS) {
            return Err(InvalidAcceptance::Extension);
        }
        match headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL) {
            true => Err(InvalidAcceptance::Subprotocol),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key and its answer of RFC 6455, section 1.3.
    const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
    const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

    #[test]
    fn only_a_101_of_this_handshake_opens_a_websocket() {
        let handshake = ProviderHandshake {
            key: HeaderValue::from_static(KEY),
        };
        let right = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-accept", ACCEPT),
        ];
        for (change, result) in [
            (None, Ok(())),
            (Some(("upgrade", "h2c")), Err(InvalidAcceptance::Protocol)),
            (
                Some(("connection", "close")),
                Err(InvalidAcceptance::Protocol),
            ),
            (
                Some(("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOp=")),
                Err(InvalidAcceptance::Accept),
            ),
            (
                Some(("sec-websocket-extensions", "permessage-deflate")),
                Err(InvalidAcceptance::Extension),
            ),
            (
                Some(("sec-websocket-protocol", "realtime")),
                Err(InvalidAcceptance::Subprotocol),
            ),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in right.into_iter().chain(change) {
                headers.insert(name, HeaderValue::from_static(value));
            }
            assert_eq!(handshake.check(&headers), result, "{change:?}");
        }
        let headers = handshake.request_headers();
        assert_eq!(headers[header::SEC_WEBSOCKET_KEY], KEY);
        assert!(!headers.contains_key(header::SEC_WEBSOCKET_EXTENSIONS));
    }
}
