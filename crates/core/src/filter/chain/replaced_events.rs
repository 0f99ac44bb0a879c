//! The events by which a filter replaced one, as later filters see them.

use crate::catalog::model::Candidate;
use crate::filter::Filter;
use crate::filter::view::{EventAction, EventView, RequestView};
use bytes::Bytes;
use headgate_protocol::fault::Fault;
use headgate_protocol::sse;
use std::sync::Arc;

/// Runs filters on the events by which an earlier filter replaced one. Returns what is sent in their place.
pub(super) async fn on_replaced_events(
    filters: &[Arc<dyn Filter>],
    request: &mut RequestView,
    candidate: Option<&Candidate>,
    replaced: Bytes,
) -> Result<Bytes, Fault> {
    let mut replaced = replaced;
    for filter in filters {
        let mut passed: Vec<Bytes> = Vec::new();
        for event in sse::decode_events(&replaced, usize::MAX) {
            let mut view = EventView {
                request: &mut *request,
                candidate,
                event: &event,
                action: EventAction::Pass,
            };
            filter.on_event(&mut view).decided().await?;
            match view.action {
                EventAction::Pass => passed.push(event.raw),
                EventAction::Drop => {}
                EventAction::Replace(bytes) => passed.push(bytes),
            }
        }
        replaced = match <[Bytes; 1]>::try_from(passed) {
            Ok([only]) => only,
            Err(several) => several.concat().into(),
        };
    }
    Ok(replaced)
}
