//! Other models that stand in for a model, by the cause of its failure.

use headgate_protocol::error_class::ErrorClass;
use std::sync::Arc;

/// Most models that one request is sent to, with the one that it names.
pub const MODELS_MAX: usize = 3;

/// Why no channel could serve a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FallbackCause {
    /// The request has more tokens than the model's context.
    ContextTooLong,
    /// A provider's content policy refused the request.
    ContentPolicy,
    /// No channel was available, or the last one failed, timed out, or has no such model.
    Unavailable,
    /// The last channel, or every channel, was at a rate limit.
    RateLimited,
    /// The provider refused the gateway's credential or its account.
    Account,
}

/// The models that stand in for one, in order, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFallbacks {
    /// By [`FallbackCause::ALL`].
    by_cause: [Vec<Arc<str>>; FallbackCause::ALL.len()],
}

impl FallbackCause {
    pub const ALL: [Self; 5] = [
        Self::ContextTooLong,
        Self::ContentPolicy,
        Self::Unavailable,
        Self::RateLimited,
        Self::Account,
    ];

    /// The key in `fallback` of a model, and the value in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::ContextTooLong => "context_too_long",
            Self::ContentPolicy => "content_policy",
            Self::Unavailable => "unavailable",
            Self::RateLimited => "rate_limited",
            Self::Account => "account",
        }
    }

    /// The cause that an error of this class is; `None` for one that every model would report.
    pub fn from_error_class(class: ErrorClass) -> Option<Self> {
        Some(match class {
            ErrorClass::InvalidRequest => return None,
            ErrorClass::ContextTooLong => Self::ContextTooLong,
            ErrorClass::ContentPolicy => Self::ContentPolicy,
            ErrorClass::RateLimited => Self::RateLimited,
            ErrorClass::Overloaded | ErrorClass::ServerError | ErrorClass::ModelNotFound => {
                Self::Unavailable
            }
            ErrorClass::RefusedCredential | ErrorClass::RefusedAccount => Self::Account,
        })
    }
}

impl ModelFallbacks {
    /// Sets the models for a cause.
    pub fn set(&mut self, cause: FallbackCause, models: Vec<Arc<str>>) {
        self.by_cause[cause as usize] = models;
    }

    /// The models that stand in for this cause, in order.
    pub fn for_cause(&self, cause: FallbackCause) -> &[Arc<str>] {
        &self.by_cause[cause as usize]
    }

    pub fn is_empty(&self) -> bool {
        self.by_cause.iter().all(Vec::is_empty)
    }

    /// All models that stand in, with repetitions.
    pub fn all(&self) -> impl Iterator<Item = &Arc<str>> {
        self.by_cause.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_own_models() {
        let mut fallbacks = ModelFallbacks::default();
        assert!(fallbacks.is_empty());
        for (index, cause) in FallbackCause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index);
            fallbacks.set(cause, vec![cause.name().into()]);
        }
        for cause in FallbackCause::ALL {
            assert_eq!(fallbacks.for_cause(cause), [cause.name().into()]);
        }
        assert_eq!(fallbacks.all().count(), FallbackCause::ALL.len());
    }
}
