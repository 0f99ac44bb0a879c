//! What a create has reserved of budgets in money, as its record gets it before the create is sent.

use crate::journal::CreateMoney;
use headgate_core::catalog::batch_work::BatchDemand;
use headgate_core::filter::batch_reservation::BatchReservation;
use headgate_core::filter::view::RequestView;
use headgate_core::state::money::{ChannelCreateReservation, CreateReservation};

/// What the current attempt of a create has reserved.
pub(super) fn reserved_money(request: &RequestView) -> CreateMoney {
    let state = &request.state;
    let of_create = state.get::<CreateReservation>();
    let of_create = of_create.map(|create| &create.reserved).into_iter();
    let of_batch = state.get::<BatchReservation>();
    let of_caller = of_create.chain(
        of_batch
            .into_iter()
            .flat_map(BatchReservation::reservations),
    );
    let of_channel = state.get::<ChannelCreateReservation>();
    let models = state.get::<BatchDemand>();
    let models = models.and_then(|batch| batch.models.as_ref()).into_iter();
    let bounds = of_batch.into_iter().flat_map(|reserved| &reserved.models);
    let batch_models = models.flatten().zip(bounds).map(|(demand, reserved)| {
        let name = demand.model.name.to_string();
        (name, reserved.bound.nanos)
    });
    CreateMoney {
        of_caller: of_caller.cloned().collect(),
        of_channel: of_channel.and_then(ChannelCreateReservation::reservation),
        batch_models: batch_models.collect(),
    }
}
