//! The responses of a session and their exchanges: from `response.create` or `response.created` to `response.done`.

use super::RealtimeExchanges;
use super::error_event::RealtimeError;
use super::provider_event::ProviderEvent;
use crate::refusal::refuses_caller;
use crate::response_parts::{ExchangePart, ExchangePartReceiver, exchange_parts};
use bytes::Bytes;
use headgate_protocol::fault::{Fault, FaultKind};
use std::collections::{HashMap, VecDeque};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Maximum number of responses at once: providers generate one for the conversation, and others beside it.
const RESPONSES_MAX: usize = 16;

/// How a response ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionResponseEnding {
    /// With this event, `response.done`.
    Done(Bytes),
    /// Likewise, after its client had left.
    Cancelled(Bytes),
    /// The provider has not begun it.
    Refused,
    /// Its client has left, and the provider did not report how it ended.
    ClientLeft,
    /// The provider has ended the session.
    ProviderEnded,
}

/// What the exchange of a response learns of its end.
#[derive(Debug)]
pub struct SessionResponseEnd {
    pub ending: SessionResponseEnding,
    /// The number of its events with content: each has a token at least.
    pub deltas: u64,
}

/// The result of the checks of a response.
#[derive(Debug)]
pub struct Admission {
    /// Of the response.
    pub number: u64,
    /// `None` if it may be generated.
    pub refusal: Option<AdmissionRefusal>,
}

/// Why a response is not generated.
#[derive(Debug)]
pub struct AdmissionRefusal {
    pub error: RealtimeError,
    /// Whether no further response of this caller would be.
    pub refuses_caller: bool,
}

/// What has happened to a response beside the events of its session.
#[derive(Debug)]
pub enum SessionResponseChange {
    Checked(Admission),
    Settled,
}

/// The responses of a session that have not ended.
pub struct SessionResponses<E> {
    exchanges: E,
    tasks: JoinSet<()>,
    admissions: Receiver<Admission>,
    admitting: Sender<Admission>,
    open: HashMap<u64, OpenResponse>,
    /// The numbers of those that the provider was asked for and has not begun.
    uncreated: VecDeque<u64>,
    /// The ids of the last ones that have ended.
    ended: VecDeque<String>,
    next_number: u64,
}

struct OpenResponse {
    end: oneshot::Sender<SessionResponseEnd>,
    /// That of the client's event.
    event_id: Option<String>,
    /// The provider's; `None` before it has begun.
    id: Option<String>,
    deltas: u64,
}

impl OpenResponse {
    fn end(self, ending: SessionResponseEnding) {
        let deltas = self.deltas;
        // An exchange that was refused does not wait for it.
        let _ = self.end.send(SessionResponseEnd { ending, deltas });
    }
}

impl<E: RealtimeExchanges> SessionResponses<E> {
    pub fn new(exchanges: E) -> Self {
        let (admitting, admissions) = mpsc::channel(RESPONSES_MAX);
        Self {
            exchanges,
            tasks: JoinSet::new(),
            admissions,
            admitting,
            open: HashMap::new(),
            uncreated: VecDeque::new(),
            ended: VecDeque::new(),
            next_number: 0,
        }
    }

    pub fn exchanges(&self) -> &E {
        &self.exchanges
    }

    /// Whether all responses have settled.
    pub fn is_idle(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Whether no further response may begin beside those that run.
    pub fn is_full(&self) -> bool {
        self.tasks.len() >= RESPONSES_MAX
    }

    /// Whether the provider generates one.
    pub fn has_created(&self) -> bool {
        self.open.values().any(|response| response.id.is_some())
    }

    /// Begins the exchange of a response; returns its number.
    pub fn begin(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let (end, ended) = oneshot::channel();
        let (sender, parts) = exchange_parts();
        let exchange = self.exchanges.run(ended, sender);
        let admitting = self.admitting.clone();
        self.tasks.spawn(async move {
            tokio::join!(exchange, pass_admission(number, parts, admitting));
        });
        let response = OpenResponse {
            end,
            event_id: None,
            id: None,
            deltas: 0,
        };
        self.open.insert(number, response);
        number
    }

    /// Begins the exchange of a response that the provider has begun by itself; returns its number.
    pub fn begin_created(&mut self, id: &str) -> u64 {
        let number = self.begin();
        if let Some(response) = self.open.get_mut(&number) {
            response.id = Some(id.to_owned());
        }
        number
    }

    /// Counts an event with content of the response with this id.
    pub fn count_delta(&mut self, id: &str) {
        let mut open = self.open.values_mut();
        if let Some(response) = open.find(|response| response.id.as_deref() == Some(id)) {
            response.deltas += 1;
        }
    }

    /// Notes that the provider is asked for a response, by the client's event with this id.
    pub fn await_creation(&mut self, number: u64, event_id: Option<String>) {
        if let Some(response) = self.open.get_mut(&number) {
            response.event_id = event_id;
            self.uncreated.push_back(number);
        }
    }

    /// Whether the response with this id is known; the first unknown one is that for which the provider was asked first.
    pub fn has_begun(&mut self, id: &str) -> bool {
        if self.number_by_id(id).is_some() || self.ended.iter().any(|ended| ended == id) {
            return true;
        }
        while let Some(number) = self.uncreated.pop_front() {
            if let Some(response) = self.open.get_mut(&number) {
                response.id = Some(id.to_owned());
                return true;
            }
        }
        false
    }

    /// Ends the response with this id.
    pub fn end(&mut self, id: &str, ending: SessionResponseEnding) {
        let Some(number) = self.number_by_id(id) else {
            return;
        };
        self.end_number(number, ending);
        // A provider that reports the end of a response twice must not be paid twice.
        if self.ended.len() == RESPONSES_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back(id.to_owned());
    }

    /// Ends the response that the provider refuses to begin: that of the client's event with this id, or the first one.
    pub fn refuse_creation(&mut self, event_id: Option<&str>) {
        let mut uncreated = self.uncreated.iter();
        let place = uncreated.position(|number| {
            let response = self.open.get(number);
            event_id.is_none() || response.is_some_and(|one| one.event_id.as_deref() == event_id)
        });
        if let Some(number) = place.and_then(|place| self.uncreated.remove(place)) {
            self.end_number(number, SessionResponseEnding::Refused);
        }
    }

    /// Ends all responses.
    pub fn end_all(&mut self, ending: SessionResponseEnding) {
        for (_, response) in self.open.drain() {
            response.end(ending.clone());
        }
    }

    /// Forgets a response that was refused before the provider was asked for it.
    pub fn forget(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// The event that stops the response with this number at the provider; `None` if that has ended it.
    pub fn cancel_event(&self, number: u64) -> Option<Bytes> {
        let id = self.open.get(&number)?.id.as_deref()?;
        Some(ProviderEvent::cancel(id))
    }

    /// The events that stop all responses at the provider.
    pub fn cancel_events(&self) -> Vec<Bytes> {
        let ids = self.open.values().filter_map(|one| one.id.as_deref());
        ids.map(ProviderEvent::cancel).collect()
    }

    /// The next change; if the future is dropped, none is lost.
    pub async fn next_change(&mut self) -> SessionResponseChange {
        tokio::select! {
            Some(admission) = self.admissions.recv() => SessionResponseChange::Checked(admission),
            Some(_) = self.tasks.join_next() => SessionResponseChange::Settled,
        }
    }

    /// Waits until all exchanges have settled, whose responses have ended.
    pub async fn settle(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    fn number_by_id(&self, id: &str) -> Option<u64> {
        let mut open = self.open.iter();
        let found = open.find(|(_, response)| response.id.as_deref() == Some(id));
        found.map(|(number, _)| *number)
    }

    fn end_number(&mut self, number: u64, ending: SessionResponseEnding) {
        if let Some(response) = self.open.remove(&number) {
            response.end(ending);
        }
    }
}

/// Passes on whether an exchange admits its response, and reads what else it writes.
async fn pass_admission(
    number: u64,
    mut parts: ExchangePartReceiver,
    admitting: Sender<Admission>,
) {
    let refusal = match parts.receive().await {
        Some(ExchangePart::Head(status, _)) if status.is_success() => None,
        Some(ExchangePart::Head(status, _)) => {
            let (body, _) = parts.read_whole().await;
            Some(AdmissionRefusal {
                error: RealtimeError::from_body(&body),
                refuses_caller: refuses_caller(status, &body),
            })
        }
        _ => {
            let fault = Fault::new(FaultKind::Internal, "internal error; try again");
            Some(AdmissionRefusal {
                error: RealtimeError::from_fault(&fault),
                refuses_caller: false,
            })
        }
    };
    // A session that has ended waits for no admission.
    let _ = admitting.send(Admission { number, refusal }).await;
    while let Some(ExchangePart::Body(_)) = parts.receive().await {}
}
