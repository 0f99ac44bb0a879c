//! What became of an attempt, as far as the health of its channel is concerned.

use crate::protocol::blame::Blame;
use std::time::Duration;

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider did its part; it may have refused what the caller asked for.
    Well,
    Failed {
        why: Why,
        /// How long the provider wants to be left alone.
        retry_after: Option<Duration>,
    },
}

/// Why a channel, one of its models or one of its keys is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No connection.
    Unreachable,
    /// The connection broke before the answer was whole.
    Broken,
    /// No answer in time.
    Silent,
    /// A status of 500 and above, an error as first event, or no answer of its protocol.
    ProviderError,
    Busy,
    CredentialRefused,
    AccountRefused,
    NotHere,
}

/// What of a channel an outcome is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Channel,
    /// The model on this channel.
    Model,
    /// The key that was shown.
    Credential,
}

impl Outcome {
    pub fn failed(why: Why) -> Self {
        Self::Failed {
            why,
            retry_after: None,
        }
    }

    /// What an error that the provider answered with says of its health.
    pub fn of(blame: Blame, retry_after: Option<Duration>) -> Self {
        let why = match blame {
            Blame::Caller => return Self::Well,
            Blame::Busy => Why::Busy,
            Blame::Provider => Why::ProviderError,
            Blame::Credential => Why::CredentialRefused,
            Blame::Account => Why::AccountRefused,
            Blame::NotHere => Why::NotHere,
        };
        Self::Failed { why, retry_after }
    }
}

impl Why {
    /// The word for metrics, logs and the admin pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Broken => "broken",
            Self::Silent => "silent",
            Self::ProviderError => "provider_error",
            Self::Busy => "busy",
            Self::CredentialRefused => "credential_refused",
            Self::AccountRefused => "account_refused",
            Self::NotHere => "not_here",
        }
    }

    /// What it is about; a limit is that of a key where there are several.
    pub fn scope(self, keys: usize) -> Scope {
        match self {
            Self::Unreachable => Scope::Channel,
            Self::Broken | Self::Silent | Self::ProviderError | Self::NotHere => Scope::Model,
            Self::Busy if keys > 1 => Scope::Credential,
            Self::Busy => Scope::Model,
            Self::CredentialRefused | Self::AccountRefused => Scope::Credential,
        }
    }

    /// Whether the provider refused the gateway's key or account.
    pub fn is_about_a_key(self) -> bool {
        matches!(self, Self::CredentialRefused | Self::AccountRefused)
    }

    /// Whether one is enough to be left alone: the provider said so itself.
    pub fn is_decisive(self) -> bool {
        match self {
            Self::Busy | Self::CredentialRefused | Self::AccountRefused | Self::NotHere => true,
            Self::Unreachable | Self::Broken | Self::Silent | Self::ProviderError => false,
        }
    }
}
