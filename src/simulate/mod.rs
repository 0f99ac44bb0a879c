//! The simulated provider: all three protocols with realistic answers, faults on demand, and a record of what came.

mod ask;
mod chat;
mod clock;
mod control;
mod directive;
mod endpoint;
mod fitting;
mod given;
mod headers;
mod json;
mod ledger;
mod messages;
mod models;
mod orders;
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

use self::directive::{Directives, Sizes};
use self::json::Json;
use self::ledger::Ledger;
use self::orders::Orders;
use self::record::Ending;
use self::stream::EventStream;
use crate::serve::{Answer, App};
use bytes::Bytes;
use http::Request;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a [`Simulator`] behaves where no directive says otherwise.
#[derive(Clone, Debug)]
pub struct SimulatorOptions {
    /// Time before the head of every answer, in milliseconds.
    pub first_byte_ms: u64,
    /// Time between the content events of a stream, in milliseconds.
    pub event_ms: u64,
    /// Length of an ordinary answer, in tokens of four bytes.
    pub answer_tokens: u64,
    /// Time a background response takes, in milliseconds.
    pub background_ms: u64,
    /// The models listed; requests may name any other too.
    pub models: Vec<String>,
    /// Whether requests are recorded; the open ones are counted either way.
    pub record: bool,
}

/// A provider that answers without a model.
///
/// Any non-empty credential will do. Faults, sizes and paces come as directives (`delay=500ms;
/// status=429`) in the header `x-simulate`, in a first path segment `/~delay=500ms;status=429`,
/// or as the standing order of `PUT /_simulate/directives`; `GET` there lists them all. What was
/// received is told under `/_simulate/requests` and `/_simulate/open`.
pub struct Simulator {
    options: SimulatorOptions,
    orders: Orders,
    ledger: Arc<Ledger>,
    ids: Ids,
    responses: responses::Store,
    shelves: shelf::Shelves,
}

impl Default for SimulatorOptions {
    fn default() -> Self {
        Self {
            first_byte_ms: 0,
            event_ms: 0,
            answer_tokens: 60,
            background_ms: 2_000,
            models: ["simulated-small", "simulated-large"]
                .map(str::to_owned)
                .to_vec(),
            record: true,
        }
    }
}

impl Simulator {
    pub fn new(options: SimulatorOptions) -> Self {
        Self {
            orders: Orders::default(),
            ledger: Arc::new(Ledger::new(options.record.then_some(ledger::LIMITS))),
            ids: Ids::new(),
            responses: responses::Store::default(),
            shelves: shelf::Shelves::default(),
            options,
        }
    }
}

impl App for Simulator {
    async fn answer(&self, request: Request<Bytes>) -> Answer {
        if request.uri().path().starts_with(control::PREFIX) {
            control::answer(self, &request)
        } else {
            received::answer(self, request).await
        }
    }
}

/// What an endpoint knows besides the request's body.
struct Call<'c> {
    directives: &'c Directives,
    sizes: Sizes,
    options: &'c SimulatorOptions,
    ids: &'c Ids,
    /// The credential that came: to each its own responses, files, conversations and containers.
    account: &'c str,
    shelves: &'c shelf::Shelves,
}

/// A good answer.
enum Outcome {
    Whole(Json),
    Ready(Bytes),
    /// The content of a file.
    Content(Bytes),
    Stream(Script),
}

/// A good answer that streams.
enum Script {
    Chat(Box<chat::Completion>),
    Messages(Box<messages::Message>),
    Responses(Box<responses::Performance>),
}

impl Script {
    /// Sends every event, unless the stream ends before.
    async fn play(&self, stream: &mut EventStream) -> Result<(), Ending> {
        match self {
            Self::Chat(completion) => completion.play(stream).await,
            Self::Messages(message) => message.play(stream).await,
            Self::Responses(performance) => performance.play(stream).await,
        }
    }
}

/// Makes ids that no other simulator makes.
struct Ids {
    origin: String,
    count: AtomicU64,
}

impl Ids {
    fn new() -> Self {
        let origin = getrandom::u64().unwrap_or_else(|_| clock::monotonic_nanos());
        Self {
            origin: format!("{origin:016x}"),
            count: AtomicU64::new(1),
        }
    }

    fn next(&self, prefix: &str) -> String {
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        format!("{prefix}{}{n:08x}", self.origin)
    }
}
