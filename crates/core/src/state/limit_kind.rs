//! The kinds of limits that a caller can have.

/// What a limit counts, and over which period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitKind {
    /// Requests in any 60 s.
    RequestsPerMinute,
    /// Tokens in any 60 s; charged by estimate, then corrected to the tokens used.
    TokensPerMinute,
    /// Requests in flight.
    Concurrent,
    /// Tokens in a calendar day (UTC); survives a restart.
    TokensPerDay,
    /// Tokens in a calendar month (UTC); survives a restart.
    TokensPerMonth,
    /// Money in a calendar day (UTC): reserved before a request is sent, then corrected to its cost.
    CostPerDay,
    /// Money in a calendar month (UTC).
    CostPerMonth,
    /// Money for ever.
    CostTotal,
}

impl LimitKind {
    pub const ALL: [Self; 8] = [
        Self::RequestsPerMinute,
        Self::TokensPerMinute,
        Self::Concurrent,
        Self::TokensPerDay,
        Self::TokensPerMonth,
        Self::CostPerDay,
        Self::CostPerMonth,
        Self::CostTotal,
    ];

    /// Whether the limit counts tokens over a calendar day or month, and survives a restart.
    pub fn is_budget(self) -> bool {
        matches!(self, Self::TokensPerDay | Self::TokensPerMonth)
    }

    /// Whether the limit counts tokens: charged by estimate, settled on the tokens used.
    pub fn counts_tokens(self) -> bool {
        match self {
            Self::TokensPerMinute | Self::TokensPerDay | Self::TokensPerMonth => true,
            Self::RequestsPerMinute
            | Self::Concurrent
            | Self::CostPerDay
            | Self::CostPerMonth
            | Self::CostTotal => false,
        }
    }

    /// Whether the limit counts money, in billionths of the currency's unit: reserved before a request is sent, and durable.
    pub fn counts_money(self) -> bool {
        matches!(
            self,
            Self::CostPerDay | Self::CostPerMonth | Self::CostTotal
        )
    }

    /// The name in errors, metrics and store keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestsPerMinute => "requests_per_minute",
            Self::TokensPerMinute => "tokens_per_minute",
            Self::Concurrent => "concurrent",
            Self::TokensPerDay => "tokens_per_day",
            Self::TokensPerMonth => "tokens_per_month",
            Self::CostPerDay => "cost_per_day",
            Self::CostPerMonth => "cost_per_month",
            Self::CostTotal => "cost_total",
        }
    }
}
