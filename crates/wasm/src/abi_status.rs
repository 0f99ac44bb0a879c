//! The numbers that host functions return to plugins.

/// What a host function returns to the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbiStatus {
    NotFound = 1,
    BadArgument = 2,
    ParseFailure = 4,
    InvalidMemoryAccess = 6,
    Empty = 7,
    CasMismatch = 8,
    InternalFailure = 10,
    Unimplemented = 12,
}

/// What the plugin gets for a result: 0, or the number of the error.
pub(crate) fn report(result: Result<(), AbiStatus>) -> i32 {
    result.map_or_else(|status| status as i32, |()| 0)
}
