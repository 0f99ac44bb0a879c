//! The simulated provider: three text protocols, image edits and both video families, with realistic answers, faults on demand, and a record of what came.

pub mod answer;
pub mod server;

mod ask;
mod chat;
mod clock;
mod control;
mod dialect;
mod directive;
mod endpoint;
mod fitting;
mod given;
mod headers;
mod ids;
mod images;
mod json;
mod ledger;
mod media;
mod messages;
mod models;
mod orders;
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

use self::directive::{Directives, Sizes};
use self::ids::Ids;
use self::json::Json;
use self::ledger::Ledger;
use self::orders::Orders;
use self::record::Ending;
use self::stream::EventStream;
use crate::answer::Answer;
use bytes::Bytes;
use http::Request;
use http::request::Parts;
use std::sync::Arc;
use std::time::Duration;

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
    /// Time a video task is queued, in milliseconds.
    pub queue_ms: u64,
    /// Time a video task runs, in milliseconds.
    pub run_ms: u64,
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

impl Default for SimulatorOptions {
    fn default() -> Self {
        Self {
            first_byte_ms: 0,
            event_ms: 0,
            answer_tokens: 60,
            background_ms: 2_000,
            queue_ms: 300,
            run_ms: 600,
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

/// What an endpoint knows besides the request's body.
struct Call<'c> {
    directives: &'c Directives,
    sizes: Sizes,
    options: &'c SimulatorOptions,
    ids: &'c Ids,
    head: &'c Parts,
    request_id: &'c str,
    /// The credential that came: to each its own responses, files, conversations, containers and tasks.
    account: &'c str,
    shelves: &'c shelf::Shelves,
    tasks: &'c video::Tasks,
}

/// A good answer.
enum Outcome {
    Whole(Json),
    Ready(Bytes),
    /// What takes so much longer than other answers.
    Late(Json, Duration),
    /// The content of a file, with its type.
    Content(&'static str, Bytes),
    Stream(Script),
}

/// A good answer that streams.
enum Script {
    Chat(Box<chat::Completion>),
    Messages(Box<messages::Message>),
    Responses(Box<responses::Performance>),
    Images(Box<images::Edit>),
}

impl Script {
    /// Sends every event, unless the stream ends before.
    async fn play(&self, stream: &mut EventStream) -> Result<(), Ending> {
        match self {
            Self::Chat(completion) => completion.play(stream).await,
            Self::Messages(message) => message.play(stream).await,
            Self::Responses(performance) => performance.play(stream).await,
            Self::Images(edit) => edit.play(stream).await,
        }
    }
}
