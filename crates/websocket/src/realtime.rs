//! Sessions of the realtime protocol: the events of a caller's WebSocket go to the provider's and back, and each response of the
//! session is an exchange of its own.

mod client_event;
mod error_event;
mod provider_event;
mod session_model;
mod session_query;
mod session_responses;

pub use session_model::SessionModel;
pub use session_query::SessionQuery;
pub use session_responses::{SessionResponseEnd, SessionResponseEnding};

use crate::close::{CloseReason, SocketEnd};
use crate::connection::{SocketInput, WebSocketConnection};
use crate::ping_timer::{IdlePeerAction, PingTimer};
use crate::response_parts::ExchangePartSender;
use bytes::Bytes;
use client_event::RealtimeClientEvent;
use error_event::RealtimeError;
use headgate_protocol::fault::{Fault, FaultKind};
use provider_event::ProviderEvent;
use session_responses::{Admission, SessionResponseChange, SessionResponses};
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// Maximum time in which a provider reports the usage of responses whose client has left.
const LAST_USAGE: Duration = Duration::from_secs(2);

/// Limits of a session.
#[derive(Clone, Copy, Debug)]
pub struct RealtimeLimits {
    /// After this silence of either side it is pinged; after another, the session ends.
    pub ping_interval: Duration,
    /// Maximum age; running responses end.
    pub age_max: Duration,
}

/// What runs the exchanges of a session.
pub trait RealtimeExchanges {
    /// The exchange of one response of the session. It is checked like any request; the status of its own response is 200 as soon
    /// as the session's may be generated. It settles when `end` tells how that has ended.
    fn run(
        &self,
        end: oneshot::Receiver<SessionResponseEnd>,
        response: ExchangePartSender,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// A message of the provider without the secrets of its channel.
    fn mask(&self, message: Bytes) -> Bytes;
}

/// A session: the WebSockets of both sides, whose handshakes are over.
pub struct RealtimeSession<C, P, E> {
    client: WebSocketConnection<C>,
    provider: WebSocketConnection<P>,
    model: SessionModel,
    responses: SessionResponses<E>,
    /// The `response.create` whose exchange is being checked. The events after it wait.
    unadmitted: Option<UnadmittedCreate>,
    /// The response that the provider has begun by itself and whose exchange is being checked. What follows of it waits.
    unadmitted_created: Option<UnadmittedResponse>,
    /// Why no further response begins.
    closing: Option<CloseReason>,
}

struct UnadmittedCreate {
    number: u64,
    text: Bytes,
    event_id: Option<String>,
}

struct UnadmittedResponse {
    number: u64,
    /// `response.created`
    text: Bytes,
}

/// Which side ends a session.
enum SessionEnd {
    Client(SocketEnd),
    Provider(SocketEnd),
}

/// What a turn of the loop has to deal with.
enum SessionInput {
    Response(SessionResponseChange),
    Client(Result<SocketInput, SocketEnd>),
    Provider(Result<SocketInput, SocketEnd>),
    ClientIdle(IdlePeerAction),
    ProviderIdle(IdlePeerAction),
    Closing(CloseReason),
}

impl<C, P, E> RealtimeSession<C, P, E>
where
    C: AsyncRead + AsyncWrite + Unpin,
    P: AsyncRead + AsyncWrite + Unpin,
    E: RealtimeExchanges,
{
    pub fn new(
        client: WebSocketConnection<C>,
        provider: WebSocketConnection<P>,
        model: SessionModel,
        exchanges: E,
    ) -> Self {
        Self {
            client,
            provider,
            model,
            responses: SessionResponses::new(exchanges),
            unadmitted: None,
            unadmitted_created: None,
            closing: None,
        }
    }

    /// Serves the session until it ends; returns why. When `stopping` is ready, no further response begins.
    pub async fn serve(
        mut self,
        limits: RealtimeLimits,
        stopping: impl Future<Output = ()>,
    ) -> SocketEnd {
        let Err(end) = self.exchange_messages(limits, stopping).await;
        match end {
            SessionEnd::Client(end) => {
                self.cancel_responses().await;
                self.responses.end_all(SessionResponseEnding::ClientLeft);
                if let SocketEnd::Gateway(reason) = end {
                    self.client.close(reason).await;
                }
                self.provider.close(CloseReason::ClientLeft).await;
                self.responses.settle().await;
                end
            }
            SessionEnd::Provider(end) => {
                self.responses.end_all(SessionResponseEnding::ProviderEnded);
                let reason = CloseReason::ProviderEnded;
                match self.provider.peer_close() {
                    Some((code, text)) => {
                        let text = Bytes::copy_from_slice(text.as_bytes());
                        let shown = self.responses.exchanges().mask(text);
                        let shown = String::from_utf8_lossy(&shown);
                        self.client.close_as(code, &shown).await;
                    }
                    None => self.client.close(reason).await,
                }
                if let SocketEnd::Gateway(malformed) = end {
                    self.provider.close(malformed).await;
                }
                self.responses.settle().await;
                SocketEnd::Gateway(reason)
            }
        }
    }

    /// Receives and sends until the session is to end.
    async fn exchange_messages(
        &mut self,
        limits: RealtimeLimits,
        stopping: impl Future<Output = ()>,
    ) -> Result<Infallible, SessionEnd> {
        let mut stopping = pin!(stopping);
        let mut aged = pin!(sleep(limits.age_max));
        let mut client_idle = PingTimer::new(limits.ping_interval);
        let mut provider_idle = PingTimer::new(limits.ping_interval);
        loop {
            if let Some(reason) = self.closing
                && (self.responses.is_idle() || reason == CloseReason::Refused)
            {
                return Err(SessionEnd::Client(SocketEnd::Gateway(reason)));
            }
            let is_open = self.closing.is_none();
            // A side that is not read is not idle.
            let reads_client = self.unadmitted.is_none();
            let reads_provider = self.unadmitted_created.is_none();
            let input = tokio::select! {
                biased;
                () = stopping.as_mut(), if is_open => SessionInput::Closing(CloseReason::Stopping),
                () = aged.as_mut(), if is_open => SessionInput::Closing(CloseReason::Aged),
                change = self.responses.next_change() => SessionInput::Response(change),
                input = self.client.receive(), if reads_client => SessionInput::Client(input),
                input = self.provider.receive(), if reads_provider => SessionInput::Provider(input),
                action = client_idle.next_action(), if reads_client => SessionInput::ClientIdle(action),
                action = provider_idle.next_action(), if reads_provider => {
                    SessionInput::ProviderIdle(action)
                }
            };
            match input {
                SessionInput::Response(SessionResponseChange::Checked(admission)) => {
                    client_idle.note_input();
                    provider_idle.note_input();
                    self.admit(admission).await?;
                }
                SessionInput::Response(SessionResponseChange::Settled) => {}
                SessionInput::Client(input) => {
                    client_idle.note_input();
                    if let SocketInput::Text(text) = input.map_err(SessionEnd::Client)? {
                        self.receive_from_client(text).await?;
                    }
                }
                SessionInput::Provider(input) => {
                    provider_idle.note_input();
                    if let SocketInput::Text(text) = input.map_err(SessionEnd::Provider)? {
                        self.receive_from_provider(text).await?;
                    }
                }
                SessionInput::ClientIdle(IdlePeerAction::Ping) => {
                    self.client.ping().await.map_err(SessionEnd::Client)?;
                }
                SessionInput::ClientIdle(IdlePeerAction::GiveUp) => {
                    return Err(SessionEnd::Client(SocketEnd::IdleTimeout));
                }
                SessionInput::ProviderIdle(IdlePeerAction::Ping) => {
                    self.provider.ping().await.map_err(SessionEnd::Provider)?;
                }
                SessionInput::ProviderIdle(IdlePeerAction::GiveUp) => {
                    return Err(SessionEnd::Provider(SocketEnd::IdleTimeout));
                }
                SessionInput::Closing(reason) => self.closing = Some(reason),
            }
        }
    }

    async fn receive_from_client(&mut self, text: Bytes) -> Result<(), SessionEnd> {
        match RealtimeClientEvent::parse(text, &self.model) {
            Ok(RealtimeClientEvent::Other(text)) => self.send_to_provider(&text).await,
            Ok(RealtimeClientEvent::Create { text, event_id }) => {
                let refusal = match self.closing {
                    Some(reason) => Some(Fault::new(FaultKind::Ending, reason.text())),
                    None if self.responses.is_full() => Some(Fault::new(
                        FaultKind::TooManyRequests,
                        "too many responses run in this session; wait until one has ended",
                    )),
                    None => None,
                };
                if let Some(fault) = refusal {
                    let error = RealtimeError::from_fault(&fault);
                    return self.send_to_client(error.encode(event_id.as_deref())).await;
                }
                let number = self.responses.begin();
                self.unadmitted = Some(UnadmittedCreate {
                    number,
                    text,
                    event_id,
                });
                Ok(())
            }
            Err(invalid) => self.send_to_client(invalid).await,
        }
    }

    /// Carries on with a response whose exchange was checked.
    async fn admit(&mut self, admission: Admission) -> Result<(), SessionEnd> {
        let Admission { number, refusal } = admission;
        let create = self.unadmitted.take_if(|create| create.number == number);
        let mut created = self.unadmitted_created.take_if(|one| one.number == number);
        let Some(refusal) = refusal else {
            if let Some(create) = create {
                self.responses.await_creation(number, create.event_id);
                self.send_to_provider(&create.text).await?;
            } else if let Some(created) = created.take() {
                self.show(created.text).await?;
            }
            return Ok(());
        };
        // What the provider begins by itself it bills, whoever gets it: the session ends, so that no more of it follows.
        if refusal.refuses_caller || create.is_none() {
            self.closing = Some(CloseReason::Refused);
        }
        match (&create, self.responses.cancel_event(number)) {
            (Some(create), _) => self.responses.forget(create.number),
            (None, Some(cancel)) => self.send_to_provider(&cancel).await?,
            (None, None) => {}
        }
        let event_id = create.and_then(|create| create.event_id);
        self.send_to_client(refusal.error.encode(event_id.as_deref()))
            .await
    }

    async fn receive_from_provider(&mut self, text: Bytes) -> Result<(), SessionEnd> {
        match ProviderEvent::read(&text) {
            ProviderEvent::Created { id } if !self.responses.has_begun(&id) => {
                if self.closing.is_none() && !self.responses.is_full() {
                    // As at the end of what a user says.
                    let number = self.responses.begin_created(&id);
                    self.unadmitted_created = Some(UnadmittedResponse { number, text });
                    return Ok(());
                }
                let cancel = ProviderEvent::cancel(&id);
                self.send_to_provider(&cancel).await?;
            }
            ProviderEvent::Delta { id } => self.responses.count_delta(&id),
            ProviderEvent::Done { id } => {
                if !self.responses.has_begun(&id) {
                    self.responses.begin_created(&id);
                }
                let ending = SessionResponseEnding::Done(text.clone());
                self.responses.end(&id, ending);
            }
            ProviderEvent::Error { event_id } => {
                self.responses.refuse_creation(event_id.as_deref());
            }
            ProviderEvent::Created { .. } | ProviderEvent::Other => {}
        }
        self.show(text).await
    }

    async fn show(&mut self, text: Bytes) -> Result<(), SessionEnd> {
        let shown = self.responses.exchanges().mask(text);
        self.send_to_client(shown).await
    }

    /// Stops the responses of a client that has left, so that the provider reports what they have used.
    async fn cancel_responses(&mut self) {
        let cancelling = async {
            for cancel in self.responses.cancel_events() {
                self.provider.send_text(&cancel).await?;
            }
            while self.responses.has_created() {
                if let SocketInput::Text(text) = self.provider.receive().await?
                    && let ProviderEvent::Done { id } = ProviderEvent::read(&text)
                {
                    self.responses
                        .end(&id, SessionResponseEnding::Cancelled(text.clone()));
                }
            }
            Ok::<(), SocketEnd>(())
        };
        // A provider that does not report it in time is not waited for.
        let _ = timeout(LAST_USAGE, cancelling).await;
    }

    async fn send_to_client(&mut self, text: Bytes) -> Result<(), SessionEnd> {
        let sent = self.client.send_text(&text).await;
        sent.map_err(SessionEnd::Client)
    }

    async fn send_to_provider(&mut self, text: &[u8]) -> Result<(), SessionEnd> {
        let sent = self.provider.send_text(text).await;
        sent.map_err(SessionEnd::Provider)
    }
}
