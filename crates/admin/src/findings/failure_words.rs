//! Failures of providers in words: what happened, and what the operator may do.

use headgate_channel::outcome::{ConnectFailure, FailureReason};

/// What the provider did.
pub(super) fn failure_in_words(
    reason: FailureReason,
    connect: Option<ConnectFailure>,
) -> &'static str {
    match reason {
        FailureReason::ConnectError => match connect {
            Some(ConnectFailure::Dns) => {
                "no connection to the provider could be made, since its name could not be resolved (DNS)"
            }
            Some(ConnectFailure::Refused) => {
                "no connection to the provider could be made, since its host refuses connections"
            }
            Some(ConnectFailure::Unreachable) => {
                "no connection to the provider could be made, since there is no route to its host"
            }
            Some(ConnectFailure::Tls) => {
                "no connection to the provider could be made, since the TLS handshake failed"
            }
            Some(ConnectFailure::Timeout) => "no connection to the provider could be made in time",
            None => "no connection to the provider could be made",
        },
        FailureReason::ConnectionClosed => {
            "the provider closed connections before its responses were complete"
        }
        FailureReason::Timeout => "the provider did not respond in time",
        FailureReason::ServerError => "the provider responded with server errors",
        FailureReason::InvalidResponse => {
            "the provider sent responses that are invalid in the protocol"
        }
        FailureReason::RateLimited => "the provider's rate limit was reached",
        FailureReason::RefusedCredential => "the provider refuses the credential",
        FailureReason::RefusedAccount => "the provider refuses the account",
        FailureReason::CredentialUnavailable => "the credential of the channel cannot be had",
        FailureReason::ModelUnavailable => "the provider does not serve the model on this account",
    }
}

/// What the operator may do about it.
pub(super) fn advice_about(reason: FailureReason, connect: Option<ConnectFailure>) -> &'static str {
    match reason {
        FailureReason::ConnectError => match connect {
            Some(ConnectFailure::Dns) => {
                "Check the host in the channel's `base_url`, and query the name servers of `server.dns` for it."
            }
            Some(ConnectFailure::Refused) => {
                "Check the host and port in the channel's `base_url`, and whether the provider's server runs."
            }
            Some(ConnectFailure::Tls) => {
                "Check the scheme and port in the channel's `base_url`, and the certificate that the host presents; `detail` of the log lines `attempt failed` has the reason."
            }
            Some(ConnectFailure::Unreachable | ConnectFailure::Timeout) | None => {
                "Check the channel's `base_url`, and the network and firewalls between here and the provider."
            }
        },
        FailureReason::ConnectionClosed | FailureReason::ServerError => {
            "Look at the provider's status page; requests go to other channels meanwhile."
        }
        FailureReason::Timeout => {
            "Look at the provider's status page, or raise the channel's `timeouts` if such responses are expected."
        }
        FailureReason::InvalidResponse => {
            "Check that the channel's `protocols` and `base_url` fit the provider."
        }
        FailureReason::RateLimited => {
            "Lower the channel's `limits` or `weight`, add a credential, or ask the provider for a higher quota."
        }
        FailureReason::RefusedCredential => "Replace the key of the channel and reload.",
        FailureReason::RefusedAccount => {
            "Check the account's billing and permissions at the provider."
        }
        FailureReason::CredentialUnavailable => {
            "The finding `credential_not_issued` has the reason; requests go to other channels meanwhile."
        }
        FailureReason::ModelUnavailable => "Check the name of the model in the channel's `models`.",
    }
}
