//! `channels.*.errors` of `routes.yaml`: what errors of a provider mean.

use schemars::JsonSchema;
use serde::Deserialize;

/// What an error of the provider means. It has all that is given: a status, a code, a message; at least one of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorClassRuleConfig {
    /// Status of the response, 400 to 599, or the one that an error event of a stream names. Default: any.
    #[schemars(range(min = 400, max = 599))]
    pub status: Option<u16>,
    /// Beginning of the error's code or type, by letters and digits only: `queue_full` is also `QueueFull`. Default: any.
    #[schemars(length(min = 1))]
    pub code: Option<String>,
    /// Beginning of the error's message, without regard to case; `*` is one word, such as a name. Default: any.
    #[schemars(length(min = 1))]
    pub message: Option<String>,
    /// Class of these errors.
    pub class: ErrorClassConfig,
}

/// What or who caused an error.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClassConfig {
    /// The request: no other channel is tried.
    ClientError,
    /// The request has more tokens than the model's context: no other channel is tried.
    ContextTooLong,
    /// The provider's content policy refuses the request: no other channel is tried.
    ContentPolicy,
    /// A rate limit.
    RateLimited,
    /// The provider has no capacity at the moment.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// The provider refused the credential.
    RefusedCredential,
    /// The account's quota is used up, or it has an unpaid bill.
    RefusedAccount,
    /// The channel does not offer the model.
    ModelUnavailable,
}
