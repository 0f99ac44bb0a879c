//! What a limit of a caller counts.

/// What a limit counts, and over which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitKind {
    /// In any 60 s.
    RequestsPerMinute,
    /// In any 60 s; taken on estimate, corrected by what was used.
    TokensPerMinute,
    /// At one time.
    Concurrent,
    /// In a calendar day, UTC; survives a restart.
    TokensPerDay,
    /// In a calendar month, UTC; survives a restart.
    TokensPerMonth,
}

impl LimitKind {
    pub const ALL: [Self; 5] = [
        Self::RequestsPerMinute,
        Self::TokensPerMinute,
        Self::Concurrent,
        Self::TokensPerDay,
        Self::TokensPerMonth,
    ];

    /// Whether it counts over a calendar day or month, and survives a restart.
    pub fn is_budget(self) -> bool {
        matches!(self, Self::TokensPerDay | Self::TokensPerMonth)
    }

    /// The word for errors, metrics and keys of a store.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestsPerMinute => "requests_per_minute",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::Concurrent => "concurrent",
            Self::TokensPerDay => "tokens_per_day",
            Self::TokensPerMonth => "tokens_per_month",
        }
    }
}
