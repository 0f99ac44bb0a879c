//! Errors of the simulated provider, as a body or a stream event of each protocol.

use super::directive::Directives;
use super::json::{Json, object};
use super::stream::sse;
use crate::protocol::Protocol;
use bytes::Bytes;
use http::StatusCode;

/// A request the provider refuses or fails.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    message: String,
    /// The word for it; without one the protocol's usual word for the status.
    code: Option<String>,
    param: Option<&'static str>,
    /// Seconds the client is told to wait.
    pub retry_after: Option<u64>,
}

impl Refusal {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            code: None,
            param: None,
            retry_after: None,
        }
    }

    /// A `400` for a body that does not hold what it must.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// A `404` for something that is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// The error that `directives` ask for: `status` where they name none, the credential where they want it echoed.
    pub fn wished(directives: &Directives, status: StatusCode, credential: &str) -> Self {
        let status = directives.status.unwrap_or(status);
        let mut message = directives.message.clone();
        let message = message
            .get_or_insert_with(|| format!("Simulated failure with status {}.", status.as_u16()));
        if directives.echo_credential {
            message.push_str(&format!(" Incorrect API key provided: {credential}."));
        }
        Self {
            code: directives.code.clone(),
            retry_after: directives.retry_after,
            ..Self::new(status, message.as_str())
        }
    }

    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(code.to_owned());
        self
    }

    pub fn param(mut self, param: &'static str) -> Self {
        self.param = Some(param);
        self
    }

    /// The error body in the shape of `protocol`.
    pub fn body(&self, protocol: Protocol, request_id: &str) -> Json {
        match protocol {
            Protocol::Messages => object! {
                "type": "error",
                "error": object! {"type": self.messages_type(), "message": self.message},
                "request_id": request_id,
            },
            Protocol::FamilyB => object! {
                "code": self.family_b_code(),
                "message": self.message,
                "request_id": request_id,
            },
            Protocol::Chat
            | Protocol::Responses
            | Protocol::ImageEdit
            | Protocol::Video
            | Protocol::FamilyA => object! {"error": self.openai_error()},
        }
    }

    /// The error as an event amid a stream of `protocol`.
    pub fn event(&self, protocol: Protocol, request_id: &str, sequence: u64) -> Bytes {
        match protocol {
            Protocol::Chat | Protocol::Video | Protocol::FamilyA | Protocol::FamilyB => {
                sse(None, &self.body(protocol, request_id))
            }
            Protocol::Messages | Protocol::ImageEdit => {
                sse(Some("error"), &self.body(protocol, request_id))
            }
            Protocol::Responses => sse(
                Some("error"),
                &object! {
                    "type": "error",
                    "sequence_number": sequence,
                    "code": self.openai_code(),
                    "message": self.message,
                    "param": self.param,
                },
            ),
        }
    }

    fn openai_error(&self) -> Json {
        object! {
            "message": self.message,
            "type": self.openai_type(),
            "param": self.param,
            "code": self.openai_code(),
        }
    }

    fn openai_type(&self) -> &str {
        match self.status.as_u16() {
            429 if self.code.as_deref() == Some("insufficient_quota") => "insufficient_quota",
            429 => "requests",
            403 => "permission_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        }
    }

    fn openai_code(&self) -> Option<&str> {
        let usual = match self.status.as_u16() {
            401 => Some("invalid_api_key"),
            429 => Some("rate_limit_exceeded"),
            503 => Some("overloaded"),
            500.. => Some("server_error"),
            _ => None,
        };
        self.code.as_deref().or(usual)
    }

    fn family_b_code(&self) -> &str {
        let usual = match self.status.as_u16() {
            401 => "InvalidApiKey",
            403 => "AccessDenied",
            404 => "NotFound",
            429 => "Throttling.RateQuota",
            503 => "ServiceUnavailable",
            500.. => "InternalError",
            _ => "InvalidParameter",
        };
        self.code.as_deref().unwrap_or(usual)
    }

    fn messages_type(&self) -> &str {
        let usual = match self.status.as_u16() {
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            409 => "conflict_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            503 | 529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        // A word of the other protocols is none that a client of this one would know.
        let code = self.code.as_deref().filter(|code| code.ends_with("_error"));
        code.unwrap_or(usual)
    }
}
