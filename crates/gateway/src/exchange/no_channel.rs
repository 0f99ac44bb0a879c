//! The error if no channel is usable.

use headgate_channel::unusable::NoUsableChannel;
use headgate_protocol::fault::{Fault, FaultKind};

/// The operator's log has the reason for each channel; callers get `retry-after`.
pub(crate) fn no_channel(none: &NoUsableChannel) -> Fault {
    let mut fault = Fault::new(
        FaultKind::NoChannel,
        "no channel is available for this request; try again later",
    )
    .detail(none.to_string());
    fault.retry_after = none.retry_after();
    fault
}
