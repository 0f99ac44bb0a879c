//! The condition (`if`) of a channel: whether it accepts a request.

use super::expression::{ExchangeValues, evaluation_fault};
use super::view::RequestView;
use crate::catalog::channel::Channel;
use crate::protocol::fault::Fault;

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
