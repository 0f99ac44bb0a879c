//! The simulated provider: three text protocols, image edits and both video families, with realistic answers, faults on demand, and a record of what came.

pub mod answer;
pub mod server;

mod ask;
mod call;
mod chat;
mod clock;
mod control;
mod dialect;
mod directive;
mod endpoint;
mod event;
mod fitting;
mod given;
mod headers;
mod ids;
mod images;
mod json;
mod known_directives;
mod ledger;
mod media;
mod messages;
mod models;
mod options;
mod orders;
mod outcome;
mod query;
mod received;
mod record;
mod refusal;
mod reply;
mod responses;
mod shelf;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod video;

pub use options::SimulatorOptions;

use answer::Answer;
use bytes::Bytes;
use http::Request;
use ids::Ids;
use ledger::Ledger;
use orders::Orders;
use std::sync::Arc;

/// A provider that answers without a model.
///
/// Any non-empty credential will do. Faults, sizes and paces come as directives (`delay=500ms;
/// status=429`) in the header `x-simulate`, in a first path segment `/~delay=500ms;status=429`,
/// or as the standing order of `PUT /_simulate/directives`; `GET` there lists them all. What was
/// received is told under `/_simulate/requests` and `/_simulate/open`, and the video tasks it made
/// under `/_simulate/tasks`.
pub struct Simulator {
    options: SimulatorOptions,
    orders: Orders,
    ledger: Arc<Ledger>,
    ids: Ids,
    responses: responses::Store,
    shelves: shelf::Shelves,
    tasks: video::Tasks,
}

impl Simulator {
    pub fn new(options: SimulatorOptions) -> Self {
        Self {
            orders: Orders::default(),
            ledger: Arc::new(Ledger::new(options.record.then_some(ledger::LIMITS))),
            ids: Ids::new(),
            responses: responses::Store::default(),
            shelves: shelf::Shelves::default(),
            tasks: video::Tasks::default(),
            options,
        }
    }

    /// Answers one request whose body was read whole. A client that leaves drops the future; once an
    /// answer streams, its channel is closed instead, so that a sender waiting on it learns of it at once.
    pub async fn answer(&self, request: Request<Bytes>) -> Answer {
        if request.uri().path().starts_with(control::PREFIX) {
            control::answer(self, &request)
        } else {
            received::answer(self, request).await
        }
    }
}
