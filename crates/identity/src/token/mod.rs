//! JSON Web Tokens (RFC 7519): their strict form, their signatures and their claims. No I/O.

pub(crate) mod algorithm;
pub(crate) mod claims;
pub(crate) mod key_set;
pub(crate) mod refusal;
pub(crate) mod signed_token;
