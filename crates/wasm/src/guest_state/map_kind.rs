//! The header maps of the ABI.

use crate::abi_status::AbiStatus;

/// The maps that the host has, by their numbers in the ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderMapKind {
    RequestHeaders = 0,
    RequestTrailers = 1,
    ResponseHeaders = 2,
    ResponseTrailers = 3,
    CallHeaders = 6,
    CallTrailers = 7,
}

impl HeaderMapKind {
    pub fn from_abi(kind: i32) -> Result<Self, AbiStatus> {
        Ok(match kind {
            0 => Self::RequestHeaders,
            1 => Self::RequestTrailers,
            2 => Self::ResponseHeaders,
            3 => Self::ResponseTrailers,
            6 => Self::CallHeaders,
            7 => Self::CallTrailers,
            _ => return Err(AbiStatus::BadArgument),
        })
    }
}
