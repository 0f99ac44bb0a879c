//! Codes that several providers have in common, the meaning of statuses, and codes of the caller's errors.

use super::super::ErrorClass::{
    ContentPolicy, ContextTooLong, InvalidRequest, ModelNotFound, Overloaded, RateLimited,
    RefusedAccount, RefusedCredential, ServerError,
};
use super::super::{ErrorClass, ErrorRule};

/// Codes by what they say, whichever provider sends them. Account errors come first: some have status 429, and would
/// otherwise be retried in vain.
pub const CODES: &[ErrorRule] = &[
    any(RefusedAccount).statuses(400, 429).codes(&[
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "account_deactivated",
        "AccountOverdueError",
        "InvalidAccountStatus",
        "InvalidSubscription",
        "SetLimitExceeded",
        "Arrearage",
        "AllocationQuota.FreeTierOnly",
        "PrepaidBillOverdue",
        "PostpaidBillOverdue",
        "CommodityNotPurchased",
        "OperationDenied.ServiceOverdue",
        "OperationDenied.ServiceNotOpen",
    ]),
    any(RefusedCredential).statuses(400, 403).codes(&[
        "invalid_api_key",
        "authentication_error",
        "invalid_authentication",
        "incorrect_api_key",
        "AccessDenied.Unpurchased",
        "permission_error",
    ]),
    any(ModelNotFound).statuses(400, 404).codes(&[
        "model_not_found",
        "model_not_available",
        "ModelNotOpen",
        "InvalidEndpointOrModel",
        "InvalidEndpoint.ClosedEndpoint",
        "UnsupportedModel",
        "DeploymentNotFound",
        "Model.AccessDenied",
        "Workspace.AccessDenied",
        "WorkspaceNotFound",
        "unsupported_country_region_territory",
    ]),
    any(ContextTooLong)
        .statuses(400, 422)
        .codes(&["context_length", "string_above_max_length"]),
    any(ContentPolicy).statuses(400, 422).codes(&[
        "content_filter",
        "content_policy",
        "bio_policy",
        "data_inspection_failed",
    ]),
    any(Overloaded).statuses(400, 599).codes(&[
        "overloaded",
        "ServerOverloaded",
        "InflightBatchsizeExceeded",
        "ModelLoadingError",
    ]),
    any(RateLimited).statuses(400, 599).codes(&[
        "rate_limit",
        "RateLimit",
        "Throttling",
        "LimitRequests",
        "RequestBurstTooFast",
        "ModelAccount",
        "ApiAccountRpm",
        "AccountRateLimit",
    ]),
];

/// What a status means where no code or message says more.
pub const BY_STATUS: &[ErrorRule] = &[
    any(RefusedCredential).status(401),
    any(RefusedAccount).status(402),
    any(ModelNotFound).statuses(403, 404).open(),
    any(ServerError).status(408),
    any(RateLimited).status(429),
    any(InvalidRequest)
        .statuses(500, 599)
        .codes(&["not_implemented"]),
    any(InvalidRequest).status(501),
    any(Overloaded).status(503),
    any(Overloaded).status(529),
    any(ServerError).statuses(500, 599),
    any(InvalidRequest).statuses(400, 499),
];

/// Codes of the caller's own errors, in an error event that names no status.
pub const CALLERS_CODES: &[ErrorRule] = &[any(InvalidRequest).codes(&[
    "invalid_request",
    "invalid_prompt",
    "invalid_image",
    "invalid_value",
    "InvalidParameter",
    "MissingParameter",
    "unsupported_parameter",
    "unknown_parameter",
    "image_",
    "data_residency",
    "request_too_large",
    "not_found_error",
])];

const fn any(class: ErrorClass) -> ErrorRule {
    ErrorRule::new(class, "")
}
