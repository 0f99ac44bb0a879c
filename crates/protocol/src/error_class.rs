//! Whose fault a provider's error is: a table of statuses and words, first match wins.
//!
//! The words are those of wire-level error bodies: `code` and `type` of the chat and responses
//! protocols, `error.type` of the messages protocol, `error.code` of video family A, `code` of family B.

#[cfg(test)]
mod tests;

use super::json::skim;

/// What a provider's error says about who should do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The request itself: no other channel would take it either.
    InvalidRequest,
    /// Too much at once; the same request may go through elsewhere, or later.
    RateLimited,
    /// The provider failed.
    ServerError,
    /// The key that the gateway showed.
    RefusedCredential,
    /// The account behind the key: no quota left, or a bill is open.
    RefusedAccount,
    /// The model is not to be had on this channel.
    ModelNotFound,
}

/// One row: what it matches and what that means.
struct ClassificationRule {
    /// Lowest and highest status; an error inside a stream has none and matches every row.
    statuses: (u16, u16),
    /// Beginnings of the code or type, in lower case; any where empty.
    words: &'static [&'static str],
    error_class: ErrorClass,
}

/// First match wins. Sources: the error references of the providers, the types of their SDKs, and
/// recorded answers.
const TABLE: &[ClassificationRule] = &[
    // Accounts. Some come as 429, which else would be tried again for nothing.
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
    // Keys.
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
    // Models and places.
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
    // Too much at once.
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
    // The provider itself.
    row((408, 408), &[], ErrorClass::ServerError),
    row(
        (500, 599),
        &["not_implemented", "notimplemented"],
        ErrorClass::InvalidRequest,
    ),
    row((501, 501), &[], ErrorClass::InvalidRequest),
    row((500, 599), &[], ErrorClass::ServerError),
    // What is left is about the request.
    row((400, 499), &[], ErrorClass::InvalidRequest),
];

/// Words of the caller's own faults, where no status tells: in an error event.
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

/// Whose fault an answer of this status is, by the words of its body.
///
/// `body` may be cut or be none: what cannot be read counts as having no words.
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

/// Whose fault an error event of a stream is; one that says nothing is the provider's.
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
    /// The word for metrics and logs.
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

    /// Whether another channel may take the request all the same.
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

/// The words that say what went wrong, wherever the families put them.
struct ErrorCodes(Vec<String>);

/// Where they stand, the more exact ones first.
const PLACES: &[&[&str]] = &[
    &["error", "code"],
    &["error", "type"],
    &["response", "error", "code"],
    &["output", "code"],
    &["code"],
];

fn words(body: &[u8]) -> ErrorCodes {
    let word = |path: &&[&str]| {
        skim::plain_string(body, skim::find(body, path)?).map(str::to_ascii_lowercase)
    };
    ErrorCodes(PLACES.iter().filter_map(word).collect())
}

impl ErrorCodes {
    fn begin_with_any(&self, beginnings: &[&str]) -> bool {
        self.0
            .iter()
            .any(|word| beginnings.iter().any(|one| word.starts_with(one)))
    }
}
