//! Why a token is refused, for the log. The texts have no value of the token, which anyone may have written.

/// The longest token, in bytes.
pub(crate) const TOKEN_BYTES_MAX: usize = 16 << 10;

/// Why a token is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenRefusal {
    #[error("the token is longer than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    #[error("the token does not have three parts")]
    Parts,
    #[error("the {0} is not base64url in its only form without padding")]
    Encoding(TokenPart),
    #[error("the {0} is not a JSON object without duplicate members")]
    Json(TokenPart),
    #[error("the header has `{0}`, which is not accepted")]
    HeaderMember(&'static str),
    #[error("the header has no `alg` of an asymmetric signature that is known here")]
    Algorithm,
    #[error("the header's `typ` is not `JWT` or `at+jwt`")]
    Type,
    #[error("the header's `kid` is not a text of 1 to 256 bytes")]
    KeyId,
    #[error("the claim `iss` is that of no issuer of this route")]
    Issuer,
    #[error("the issuer's `algorithms` do not have the header's `alg`")]
    UnlistedAlgorithm,
    #[error("the claim `{0}` is missing")]
    MissingClaim(&'static str),
    #[error("the claim `{0}` is not of its type")]
    ClaimType(&'static str),
    #[error("the claim `aud` has no configured audience")]
    Audience,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet by its claim `{0}`")]
    NotYetValid(&'static str),
    #[error("the issuer has no key with the header's `kid` that fits its `alg`")]
    UnknownKey,
    #[error("the signature is not that of the key")]
    Signature,
    #[error("the expression `{0}` has no usable value: {1}")]
    Expression(&'static str, String),
    #[error(
        "the name of the caller has other characters than visible ones of ASCII, or more than 128"
    )]
    CallerName,
    #[error("no rule of `admit` applies")]
    NotAdmitted,
    #[error("caller `{0}` is not configured")]
    UnknownCaller(String),
}

/// A part of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenPart {
    Header,
    Claims,
    Signature,
}

impl std::fmt::Display for TokenPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Header => "header",
            Self::Claims => "payload",
            Self::Signature => "signature",
        })
    }
}
