//! The condition (`if`) of a channel: whether it accepts a request.

use headgate_core::catalog::channel::Channel;
use headgate_core::filter::expression::{ExchangeValues, evaluation_fault};
use headgate_core::filter::view::RequestView;
use headgate_protocol::fault::Fault;

/// Whether a channel accepts a request with a model.
///
/// # Errors
/// The condition of the channel cannot be evaluated.
pub fn accepts(channel: &Channel, request: &RequestView) -> Result<bool, Fault> {
    let Some(condition) = &channel.condition else {
        return Ok(true);
    };
    let accepted = condition.is_true(&ExchangeValues::for_request(request));
    accepted.map_err(|error| {
        evaluation_fault(&format!("condition of channel `{}`", channel.name), &error)
    })
}
