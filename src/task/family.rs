//! A family of video providers as built: what it is asked, and how its answers are read.

mod answer;
mod build;
pub mod call;
pub(super) mod given;
mod native;
mod place;
mod request;
mod source;
#[cfg(test)]
mod tests;

pub use answer::{Unreadable, UpstreamError};
pub use build::InvalidFamily;
pub use call::{Call, CreateCall};
pub use request::{Ignored, Mapped, Unsupported};

use super::state::State;
use super::time::TimeFormat;
use crate::protocol::Protocol;
use place::{Target, Template};
use serde_json::Value;
use source::Sources;
use std::sync::Arc;
use std::time::Duration;

/// A family of video providers. It is data; all it does is pure.
#[derive(Debug)]
pub struct Family {
    pub name: Arc<str>,
    /// The protocol of callers who speak it themselves, if there is one.
    pub protocol: Option<Protocol>,
    pub create: CreateCall,
    pub query: Query,
    /// None where tasks cannot be cancelled.
    pub cancel: Option<Cancel>,
    request: RequestRules,
    task_id: Sources,
    status: StatusRules,
    answer: AnswerRules,
    errors: ErrorRules,
    native: NativeRules,
}

/// How a task is asked for, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub call: Call,
    /// How long an answer is told again while the task is under way.
    pub fresh: Duration,
    /// How long an answer is told again once the task is over.
    pub fresh_when_done: Duration,
    /// Most queries and cancels of one channel in any second; as many as come where absent.
    pub per_second: Option<u16>,
}

impl Query {
    /// How long an answer is told again about a task that stands so.
    pub fn fresh_while(&self, state: State) -> Duration {
        match state.is_terminal() {
            true => self.fresh_when_done,
            false => self.fresh,
        }
    }
}

/// How a task is cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cancel {
    pub call: Call,
    /// States in which the provider may be asked to.
    pub only: Vec<State>,
}

/// Where the fields of a generic request go.
#[derive(Debug)]
struct RequestRules {
    base: Template,
    model: Rule,
    /// In the order of `Field::ALL`.
    fields: [Rule; 9],
    /// In the order of `MediaKind::ALL`.
    medias: [Rule; 5],
}

/// What becomes of a field.
#[derive(Debug)]
enum Rule {
    Put {
        to: Target,
        value: Template,
        choices: Choices,
    },
    Refuse(String),
    Ignore(String),
}

/// The values of a field that a provider knows.
#[derive(Debug)]
enum Choices {
    Any,
    /// Each with what stands for it, if it is not itself.
    Of(Vec<(String, Option<Value>)>),
}

#[derive(Debug)]
struct StatusRules {
    at: Sources,
    words: Vec<(String, State)>,
    /// Whether an unknown word leaves the task running for a while.
    keeps_unknown: bool,
}

#[derive(Debug)]
struct AnswerRules {
    video_url: Sources,
    video_duration: Sources,
    resolution: Sources,
    ratio: Sources,
    created: Sources,
    updated: Sources,
    times: TimeFormat,
    usage: UsageRules,
}

#[derive(Debug)]
struct UsageRules {
    input_video_duration: Sources,
    output_video_duration: Sources,
    total_tokens: Sources,
    duration: Sources,
}

#[derive(Debug)]
struct ErrorRules {
    code: Sources,
    message: Sources,
    elsewhere: Vec<String>,
}

#[derive(Debug)]
struct NativeRules {
    model: Sources,
    ids_in_request: Sources,
    ids_in_answer: Sources,
}
