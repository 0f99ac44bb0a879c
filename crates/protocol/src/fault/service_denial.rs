//! The statuses with which a service may deny a request.

/// The status with which a service may deny a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServiceDenialStatus {
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    TooManyRequests,
    UnavailableForLegalReasons,
}

impl ServiceDenialStatus {
    const ALL: [Self; 6] = [
        Self::BadRequest,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::TooManyRequests,
        Self::UnavailableForLegalReasons,
    ];

    /// The status with this code, if a service may deny with it.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|status| u64::from(status.code()) == code)
    }

    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::TooManyRequests => 429,
            Self::UnavailableForLegalReasons => 451,
        }
    }
}
