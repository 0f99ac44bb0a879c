//! Classifies a provider's error by its status and error code, with a table in which the first match wins.
//!
//! The codes are those of the error bodies: `code` and `type` of the chat and responses protocols, `error.type` of the
//! messages protocol, `error.code` of video family A, `code` of family B.

#[cfg(test)]
mod tests;

use super::json::skim;

/// The class of a provider's error: what or who caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request itself: no other channel would accept it either.
    InvalidRequest,
    /// A rate limit; the same request may succeed on another channel or later.
    RateLimited,
    /// The provider failed.
    ServerError,
    /// The provider refused the gateway's credential.
    RefusedCredential,
    /// The provider refused the credential's account: its quota is used up, or it has an unpaid bill.
    RefusedAccount,
    /// This channel does not offer the model.
    ModelNotFound,
}

/// A row of the table: what it matches, and the class of a match.
struct ClassificationRule {
    /// Lowest and highest status; an error inside a stream has no status and matches every row.
    statuses: (u16, u16),
    /// Prefixes of the code or type, in lower case; empty matches any.
    words: &'static [&'static str],
    error_class: ErrorClass,
}

/// The first match wins. Sources: the providers' error references, the types of their SDKs, and recorded responses.
const TABLE: &[ClassificationRule] = &[
    // Account errors. Some have status 429 and would otherwise be retried in vain.
    row(
        (400, 429),
        &[
            "insufficient_quota",
            "billing_error",
            "billing_hard_limit_reached",
            "billing_not_active",
            "account_deactivated",
            "accountoverdueerror",
            "invalidaccountstatus",
            "invalidsubscription",
            "setlimitexceeded",
            "arrearage",
            "allocationquota.freetieronly",
            "prepaidbilloverdue",
            "postpaidbilloverdue",
            "commoditynotpurchased",
            "operationdenied.serviceoverdue",
            "operationdenied.servicenotopen",
        ],
        ErrorClass::RefusedAccount,
    ),
    row((402, 402), &[], ErrorClass::RefusedAccount),
    // Credential errors.
    row(
        (400, 403),
        &[
            "invalid_api_key",
            "invalidapikey",
            "authentication_error",
            "authenticationerror",
            "invalid_authentication",
            "incorrect_api_key",
            "accessdenied.unpurchased",
        ],
        ErrorClass::RefusedCredential,
    ),
    row((401, 401), &[], ErrorClass::RefusedCredential),
    // Unknown models and endpoints.
    row(
        (400, 404),
        &[
            "model_not_found",
            "model_not_available",
            "modelnotopen",
            "modelnotfound",
            "invalidendpointormodel",
            "invalidendpoint.closedendpoint",
            "unsupportedmodel",
            "deploymentnotfound",
            "model.accessdenied",
            "workspace.accessdenied",
            "workspacenotfound",
            "unsupported_country_region_territory",
        ],
        ErrorClass::ModelNotFound,
    ),
    // Rate limits.
    row(
        (400, 599),
        &[
            "rate_limit",
            "ratelimit",
            "overloaded",
            "throttling",
            "limitrequests",
            "serveroverloaded",
            "requestbursttoofast",
            "inflightbatchsizeexceeded",
            "modelaccount",
            "apiaccountrpm",
            "accountratelimit",
            "modelloadingerror",
        ],
        ErrorClass::RateLimited,
    ),
    row((429, 429), &[], ErrorClass::RateLimited),
    row((503, 503), &[], ErrorClass::RateLimited),
    row((529, 529), &[], ErrorClass::RateLimited),
    // Errors of the provider itself.
    row((408, 408), &[], ErrorClass::ServerError),
    row(
        (500, 599),
        &["not_implemented", "notimplemented"],
        ErrorClass::InvalidRequest,
    ),
    row((501, 501), &[], ErrorClass::InvalidRequest),
    row((500, 599), &[], ErrorClass::ServerError),
    // All other 4xx are about the request.
    row((400, 499), &[], ErrorClass::InvalidRequest),
];

/// Codes of the caller's own errors in an error event, which has no status.
const CALLERS_WORDS: &[&str] = &[
    "invalid_request",
    "invalid_prompt",
    "invalid_image",
    "invalid_value",
    "invalidparameter",
    "missingparameter",
    "content_filter",
    "content_policy",
    "context_length",
    "string_above_max_length",
    "unsupported_parameter",
    "unknown_parameter",
    "image_",
    "bio_policy",
    "data_residency",
    "request_too_large",
    "not_found_error",
    "permission_error",
];

/// The class of an error response.
///
/// `body` may be truncated or empty: a body that cannot be parsed has no codes.
pub fn of_response(status: u16, body: &[u8]) -> ErrorClass {
    let words = words(body);
    TABLE
        .iter()
        .find(|row| {
            (row.statuses.0..=row.statuses.1).contains(&status)
                && (row.words.is_empty() || words.begin_with_any(row.words))
        })
        .map_or(ErrorClass::ServerError, |row| row.error_class)
}

/// The class of an error event of a stream; an event without a known code is the provider's fault.
pub fn of_event(data: &[u8]) -> ErrorClass {
    let words = words(data);
    if words.begin_with_any(CALLERS_WORDS) {
        return ErrorClass::InvalidRequest;
    }
    TABLE
        .iter()
        .find(|row| !row.words.is_empty() && words.begin_with_any(row.words))
        .map_or(ErrorClass::ServerError, |row| row.error_class)
}

impl ErrorClass {
    /// The name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "client_error",
            Self::RateLimited => "rate_limited",
            Self::ServerError => "server_error",
            Self::RefusedCredential => "refused_credential",
            Self::RefusedAccount => "refused_account",
            Self::ModelNotFound => "model_unavailable",
        }
    }

    /// Whether the request may fail over to another channel.
    pub fn may_fail_over(self) -> bool {
        match self {
            Self::InvalidRequest => false,
            Self::RateLimited
            | Self::ServerError
            | Self::RefusedCredential
            | Self::RefusedAccount
            | Self::ModelNotFound => true,
        }
    }
}

const fn row(
    statuses: (u16, u16),
    words: &'static [&'static str],
    error_class: ErrorClass,
) -> ClassificationRule {
    ClassificationRule {
        statuses,
        words,
        error_class,
    }
}

/// The codes and types of an error, from all places where the protocols put them.
struct ReceivedErrorCodes(Vec<String>);

/// The paths of codes and types, the more specific ones first.
const PLACES: &[&[&str]] = &[
    &["error", "code"],
    &["error", "type"],
    &["response", "error", "code"],
    &["output", "code"],
    &["code"],
];

fn words(body: &[u8]) -> ReceivedErrorCodes {
    let word = |path: &&[&str]| {
        skim::plain_string(body, skim::find(body, path)?).map(str::to_ascii_lowercase)
    };
    ReceivedErrorCodes(PLACES.iter().filter_map(word).collect())
}

impl ReceivedErrorCodes {
    fn begin_with_any(&self, beginnings: &[&str]) -> bool {
        self.0
            .iter()
            .any(|word| beginnings.iter().any(|one| word.starts_with(one)))
    }
}
