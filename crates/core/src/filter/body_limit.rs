//! The refusal of a request body that is too large.

use headgate_protocol::fault::{Fault, FaultKind};

/// The fault of a body over its limit of `most` bytes. Only one whose length was declared has a known length.
pub fn too_large(declared: Option<u64>, most: u64) -> Fault {
    let received = declared.map_or(String::new(), |length| format!(" of {length} bytes"));
    Fault::new(
        FaultKind::TooLarge,
        format!(
            "the request body{received} exceeds the limit of {most} bytes; send a smaller body"
        ),
    )
}
