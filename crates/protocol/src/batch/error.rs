//! Why a request of a batch is invalid, apart from its body.

use thiserror::Error;

/// Why a request of a batch is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidBatchRequest {
    #[error("missing required field `{0}`")]
    Missing(&'static str),
    #[error("unknown field `{other}`; field names are case-sensitive, use `{name}`")]
    OtherCase { name: &'static str, other: String },
    #[error("`{0}` must not be empty")]
    Empty(&'static str),
    #[error("{} must be {expected}, received {received}", quoted(what))]
    OtherType {
        what: &'static str,
        expected: &'static str,
        received: &'static str,
    },
    #[error("`custom_id` has more than {0} bytes")]
    LongId(usize),
    #[error("`method` must be `POST`")]
    OtherMethod,
}

/// The name of a field in quotes; a noun with its article stays as it is.
fn quoted(what: &str) -> String {
    match what.contains(' ') {
        true => what.to_owned(),
        false => format!("`{what}`"),
    }
}
