//! Errors of the simulated provider, as a body or a stream event in each dialect.

use super::dialect::ApiDialect;
use super::directive::Directives;
use super::event::sse;
use super::json::{JsonText, object};
use bytes::Bytes;
use headgate_event_stream::encode_frame;
use http::StatusCode;
use serde_json::{Value, json};
use std::borrow::Cow;

/// An error response of the simulated provider.
#[derive(Debug)]
pub struct ApiError {
    pub status: StatusCode,
    pub message: String,
    /// The error code; the protocol's usual code for the status if `None`.
    pub code: Option<String>,
    pub param: Option<Cow<'static, str>>,
    /// The Retry-After in seconds.
    pub retry_after: Option<u64>,
}

impl ApiError {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            code: None,
            param: None,
            retry_after: None,
        }
    }

    /// A `400` for an invalid body.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// A `404` for something that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// The error for a request without a credential.
    pub fn without_credential(dialect: ApiDialect) -> Self {
        match dialect {
            ApiDialect::Gemini => Self::new(
                StatusCode::FORBIDDEN,
                "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
            ),
            ApiDialect::Converse => {
                Self::new(StatusCode::FORBIDDEN, "Missing Authentication Token")
                    .code("MissingAuthenticationTokenException")
            }
            ApiDialect::Chat
            | ApiDialect::Messages
            | ApiDialect::Responses
            | ApiDialect::Images
            | ApiDialect::FamilyA
            | ApiDialect::FamilyB => {
                Self::new(StatusCode::UNAUTHORIZED, "You didn't provide an API key.")
            }
        }
    }

    /// The error that `directives` ask for; `status` applies if they have none. With `echo_credential` the message
    /// contains the credential.
    pub fn directed_error(directives: &Directives, status: StatusCode, credential: &str) -> Self {
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

    pub fn param(mut self, param: impl Into<Cow<'static, str>>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// The error body in the format of `dialect`.
    pub fn body(&self, dialect: ApiDialect, request_id: &str) -> JsonText {
        match dialect {
            ApiDialect::Messages => object! {
                "type": "error",
                "error": object! {"type": self.messages_type(), "message": self.message},
                "request_id": request_id,
            },
            ApiDialect::Chat | ApiDialect::Responses | ApiDialect::Images => {
                object! {"error": self.openai_error()}
            }
            ApiDialect::FamilyA => object! {
                "error": object! {
                    "code": self.family_a_code(),
                    "message": format!("{} Request id: {request_id}", self.message),
                    "param": self.param.as_deref().unwrap_or_default(),
                    "type": self.family_a_type(),
                },
            },
            ApiDialect::FamilyB => object! {
                "code": self.family_b_code(), "message": self.message, "request_id": request_id,
            },
            ApiDialect::Gemini => object! {"error": self.google_error()},
            ApiDialect::Converse => object! {"message": self.message},
        }
    }

    /// The error as an event in a stream of `dialect`.
    pub fn event(&self, dialect: ApiDialect, request_id: &str, sequence: u64) -> Bytes {
        match dialect {
            ApiDialect::Chat | ApiDialect::Gemini => sse(None, &self.body(dialect, request_id)),
            ApiDialect::Converse => {
                let mut name = self.exception().to_owned();
                name[..1].make_ascii_lowercase();
                let headers = [
                    (":exception-type", name.as_str()),
                    (":content-type", "application/json"),
                    (":message-type", "exception"),
                ];
                encode_frame(&headers, self.body(dialect, request_id).as_bytes())
            }
            ApiDialect::Responses => sse(
                Some("error"),
                &object! {
                    "type": "error",
                    "sequence_number": sequence,
                    "code": self.openai_code(),
                    "message": self.message,
                    "param": self.param,
                },
            ),
            ApiDialect::Images => {
                let event = object! {"type": "error", "error": self.openai_error()};
                sse(Some("error"), &event)
            }
            ApiDialect::Messages | ApiDialect::FamilyA | ApiDialect::FamilyB => {
                sse(Some("error"), &self.body(dialect, request_id))
            }
        }
    }

    /// The type of a Bedrock error.
    pub fn exception(&self) -> &str {
        let usual = match self.status.as_u16() {
            403 => "AccessDeniedException",
            404 => "ResourceNotFoundException",
            408 => "ModelTimeoutException",
            424 => "ModelErrorException",
            429 => "ThrottlingException",
            503 => "ServiceUnavailableException",
            200 | 500.. => "InternalServerException",
            _ => "ValidationException",
        };
        let code = self
            .code
            .as_deref()
            .filter(|code| code.ends_with("Exception"));
        code.unwrap_or(usual)
    }

    fn google_error(&self) -> Value {
        let status = self.status.as_u16();
        let usual = match status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            200 | 500.. => "INTERNAL",
            _ => "INVALID_ARGUMENT",
        };
        // A code of another API would be unknown to this API's clients.
        let is_word = |code: &&str| code.bytes().all(|it| it.is_ascii_uppercase() || it == b'_');
        let word = self.code.as_deref().filter(is_word).unwrap_or(usual);
        let mut error = json!({"code": status, "message": self.message, "status": word});
        if let Some(seconds) = self.retry_after {
            let kind = "type.googleapis.com/google.rpc.RetryInfo";
            error["details"] = json!([{"@type": kind, "retryDelay": format!("{seconds}s")}]);
        }
        error
    }

    fn openai_error(&self) -> JsonText {
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
            200 | 500.. => "server_error",
            _ => "invalid_request_error",
        }
    }

    fn openai_code(&self) -> Option<&str> {
        let usual = match self.status.as_u16() {
            401 => Some("invalid_api_key"),
            429 => Some("rate_limit_exceeded"),
            503 => Some("overloaded"),
            200 | 500.. => Some("server_error"),
            _ => None,
        };
        self.code.as_deref().or(usual)
    }

    fn family_a_type(&self) -> &'static str {
        match self.status.as_u16() {
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            429 => "TooManyRequests",
            200 | 500.. => "InternalServerError",
            _ => "BadRequest",
        }
    }

    fn family_a_code(&self) -> &str {
        let usual = match self.status.as_u16() {
            401 => "AuthenticationError",
            403 => "AccessDenied",
            404 => "InvalidEndpointOrModel.NotFound",
            429 => "RateLimitExceeded.EndpointRPMExceeded",
            200 | 500.. => "InternalServiceError",
            _ => "InvalidParameter",
        };
        self.code.as_deref().unwrap_or(usual)
    }

    fn family_b_code(&self) -> &str {
        let usual = match self.status.as_u16() {
            401 => "InvalidApiKey",
            403 => "AccessDenied",
            404 => "NotFound",
            408 => "RequestTimeOut",
            429 => "Throttling.RateQuota",
            503 => "ServiceUnavailable",
            504 => "InternalError.Timeout",
            200 | 500.. => "InternalError",
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
            200 | 500.. => "api_error",
            _ => "invalid_request_error",
        };
        // A code of another protocol would be unknown to this protocol's clients.
        let code = self.code.as_deref().filter(|code| code.ends_with("_error"));
        code.unwrap_or(usual)
    }
}
