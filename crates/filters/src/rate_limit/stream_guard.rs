//! Ends streams whose cost passes what they have reserved and what is left of budgets with `cut_streams`.

use super::channel_budget::ChannelReservations;
use super::money::ReservedMoney;
use headgate_core::filter::stream_guard::{GuardedStream, StreamGuard};
use headgate_core::filter::view::RequestView;
use headgate_core::state::StateStore;
use headgate_protocol::fault::Fault;
use std::sync::Arc;

/// Checks the stream of a request against the budgets of its reservations.
struct BudgetStreamGuard(Arc<dyn StateStore>);

/// Has the exchange check its stream if a budget may cut that.
pub fn guard_stream(request: &mut RequestView, store: &Arc<dyn StateStore>) {
    let reserved = request.state.get::<ReservedMoney>();
    let on_channels = request.state.get::<ChannelReservations>();
    let may_be_cut = reserved.is_some_and(ReservedMoney::cuts_streams)
        || on_channels.is_some_and(ChannelReservations::cuts_streams);
    if may_be_cut && request.state.get::<GuardedStream>().is_none() {
        let guard = BudgetStreamGuard(store.clone());
        request.state.set(GuardedStream(Arc::new(guard)));
    }
}

impl StreamGuard for BudgetStreamGuard {
    fn check(&self, request: &RequestView) -> Result<(), Fault> {
        if let Some(reserved) = request.state.get::<ReservedMoney>() {
            reserved.check_stream(request, &self.0)?;
        }
        match request.state.get::<ChannelReservations>() {
            Some(reserved) => reserved.check_stream(request, &self.0),
            None => Ok(()),
        }
    }
}
