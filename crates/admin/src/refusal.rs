//! Why a request to the admin pages is refused: the status, and the sentence that names the way out.

use headgate_config::snapshot::admin::AdminRole;
use headgate_core::serve::AppResponse;
use http::{HeaderValue, StatusCode, header};
use std::time::Duration;

pub(super) const TEXT: &str = "text/plain; charset=utf-8";
/// The maximum length of a host name in a response.
const HOST_BYTES_MAX: usize = 100;

/// Why a request is refused.
#[derive(Debug)]
pub(super) enum AdminRefusal {
    /// `Host` names another server: what a browser sends after DNS rebinding.
    Misdirected {
        host: String,
    },
    /// A page of another origin made the request.
    ForeignOrigin,
    KeyInUrl,
    NoKey,
    WrongKey,
    TooManyFailures {
        wait: Duration,
    },
    /// The key has another role than the page needs.
    WrongRole {
        role: AdminRole,
        needed: AdminRole,
    },
    /// Without keys, only `POST /reload` acts.
    ActsWithKeyOnly,
    /// There are no keys, and other machines may reach the address.
    KeysRequired,
    TooManyStreams {
        max: usize,
    },
}

/// The response to a request whose work failed in the process itself.
pub(super) fn internal_error(error: &impl std::fmt::Display) -> AppResponse {
    AppResponse::full(
        StatusCode::INTERNAL_SERVER_ERROR,
        TEXT,
        format!("{error}\n"),
    )
}

impl AdminRefusal {
    pub fn response(&self) -> AppResponse {
        let text = format!("{}\n", self.sentence());
        let response = AppResponse::full(self.status(), TEXT, text);
        let with = |name, value: &'static str| (name, HeaderValue::from_static(value));
        let (name, value) = match self {
            Self::NoKey | Self::WrongKey => with(header::WWW_AUTHENTICATE, "Bearer"),
            Self::TooManyFailures { wait } => {
                let seconds = wait.as_secs().max(1);
                (header::RETRY_AFTER, HeaderValue::from(seconds))
            }
            // A client that waits for a free place must not take one of the connections.
            Self::TooManyStreams { .. } => with(header::CONNECTION, "close"),
            _ => return response,
        };
        response.with_header(name, value)
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Misdirected { .. } => StatusCode::MISDIRECTED_REQUEST,
            Self::KeyInUrl => StatusCode::BAD_REQUEST,
            Self::NoKey | Self::WrongKey => StatusCode::UNAUTHORIZED,
            Self::TooManyFailures { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::ForeignOrigin
            | Self::WrongRole { .. }
            | Self::ActsWithKeyOnly
            | Self::KeysRequired => StatusCode::FORBIDDEN,
            Self::TooManyStreams { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn sentence(&self) -> String {
        let text = match self {
            Self::Misdirected { host } => {
                let shown: String = host
                    .chars()
                    .filter(char::is_ascii_graphic)
                    .take(HOST_BYTES_MAX)
                    .collect();
                return format!(
                    "`Host: {shown}` is not a name of this listener; add the host name to `server.admin_hosts`, or use the address of the listener"
                );
            }
            Self::TooManyFailures { wait } => {
                return format!(
                    "too many requests with invalid keys from this address; wait {} s",
                    wait.as_secs().max(1)
                );
            }
            Self::TooManyStreams { max } => {
                return format!("{max} event streams are open, which is the maximum; close one");
            }
            Self::WrongRole { role, needed } => {
                return format!(
                    "this key has the role `{}`; use a key with the role `{}`",
                    role.name(),
                    needed.name()
                );
            }
            Self::ForeignOrigin => {
                "requests from web pages of another origin are refused; send no `Origin` header (curl sends none), or use the pages of this listener"
            }
            Self::KeyInUrl => {
                "the query seems to contain a key, and URLs appear in logs and histories: revoke the key if it is one, and send keys as `Authorization: Bearer <key>`"
            }
            Self::NoKey => {
                "no admin key provided; send `Authorization: Bearer <key>`, or log in with `POST /login`"
            }
            Self::WrongKey => {
                "incorrect admin key; check it against `server.admin_keys` with `headgate key digest`"
            }
            Self::ActsWithKeyOnly => {
                "without `server.admin_keys` only `POST /reload` acts; add a key with the role `act`, or `issue` for callers (`headgate key new` prints a key and its digest)"
            }
            Self::KeysRequired => {
                "other machines may reach this listener, and no key protects it; add `server.admin_keys`, or write `server.admin_without_keys: true` if operators alone can reach it"
            }
        };
        text.to_owned()
    }
}
