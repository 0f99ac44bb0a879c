//! The responses protocol over a WebSocket: each `response.create` is a request, whose stream of events comes back as messages.

mod client_event;
mod conversation;
mod error_event;
mod item_list;
mod lanes;
mod output_items;
mod response_create;
mod response_relay;
mod stream_id;
pub mod warm_up;

use crate::close::{CloseReason, SocketEnd};
use crate::connection::{SocketInput, WebSocketConnection};
use crate::ping_timer::{IdlePeerAction, PingTimer};
use crate::response_parts::{ExchangePartSender, exchange_parts};
use bytes::Bytes;
use client_event::ClientEvent;
use conversation::{ConversationHistory, KnownResponse};
use error_event::ErrorEvent;
use headgate_protocol::fault::{Fault, FaultKind};
use lanes::ResponseLanes;
use response_create::ResponseCreate;
use response_relay::{ContinuedConversation, ResponseEnding, ResponseOutput, ResponseRelay};
use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::time::Duration;
use stream_id::StreamId;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::sleep;

/// Number of messages that may wait for a slow connection.
const WAITING_MESSAGES: usize = 8;

/// Limits of a WebSocket of the responses protocol.
#[derive(Clone, Copy, Debug)]
pub struct ResponsesSocketLimits {
    /// Maximum size of the requests that wait for others, in bytes.
    pub waiting_bytes_max: usize,
    /// Maximum size of the conversations that can be continued, in bytes.
    pub history_bytes_max: usize,
    /// After this silence of the client it is pinged; after another, the connection is given up.
    pub ping_interval: Duration,
    /// Maximum age; running responses end.
    pub age_max: Duration,
}

/// What runs the exchanges of a WebSocket.
pub trait SocketExchanges {
    /// The exchange of a request of the responses protocol with this body. A warm-up is checked like any other, and is not sent to a
    /// provider: its response is a [`WarmUpResponse`](warm_up::WarmUpResponse). It goes on if the receiver of its response is gone,
    /// until it has settled.
    fn run(
        &self,
        body: Bytes,
        is_warm_up: bool,
        response: ExchangePartSender,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Serves a WebSocket until it ends; returns why. When `stopping` is ready, no
/// further request begins.
pub async fn serve_responses<S, E>(
    connection: WebSocketConnection<S>,
    exchanges: E,
    limits: ResponsesSocketLimits,
    stopping: impl Future<Output = ()>,
) -> SocketEnd
where
    S: AsyncRead + AsyncWrite + Unpin,
    E: SocketExchanges,
{
    let (sender, output) = mpsc::channel(WAITING_MESSAGES);
    let socket = ResponsesSocket {
        connection,
        output,
        responses: RunningResponses {
            exchanges,
            limits,
            sender,
            lanes: ResponseLanes::default(),
            history: ConversationHistory::new(limits.history_bytes_max),
            tasks: JoinSet::new(),
            streams: HashMap::new(),
            closing: None,
        },
    };
    socket.serve(stopping).await
}

struct ResponsesSocket<S, E> {
    connection: WebSocketConnection<S>,
    output: Receiver<ResponseOutput>,
    responses: RunningResponses<E>,
}

/// The requests of a WebSocket, and what is known of earlier ones.
struct RunningResponses<E> {
    exchanges: E,
    limits: ResponsesSocketLimits,
    sender: Sender<ResponseOutput>,
    lanes: ResponseLanes,
    history: ConversationHistory,
    tasks: JoinSet<ResponseEnding>,
    /// The `stream_id` of each task.
    streams: HashMap<Id, Option<StreamId>>,
    /// Why no further request begins; the connection is closed after the last response.
    closing: Option<CloseReason>,
}

/// What a turn of the loop has to deal with.
enum SocketEvent {
    Output(ResponseOutput),
    Ended(Result<(Id, ResponseEnding), JoinError>),
    Input(Result<SocketInput, SocketEnd>),
    Idle(IdlePeerAction),
    Closing(CloseReason),
}

/// Messages for the client, made without an exchange.
type OwnMessages = Vec<Bytes>;

impl<S: AsyncRead + AsyncWrite + Unpin, E: SocketExchanges> ResponsesSocket<S, E> {
    async fn serve(mut self, stopping: impl Future<Output = ()>) -> SocketEnd {
        let Err(end) = self.exchange_messages(stopping).await;
        let Self {
            connection,
            output,
            responses,
        } = self;
        // Running exchanges notice that nobody waits for their responses.
        drop(output);
        if let SocketEnd::Gateway(reason) = end {
            connection.close(reason).await;
        }
        responses.settle().await;
        end
    }

    /// Receives and sends until the connection is to be closed.
    ///
    /// # Errors
    /// Why it ends.
    async fn exchange_messages(
        &mut self,
        stopping: impl Future<Output = ()>,
    ) -> Result<Infallible, SocketEnd> {
        let limits = self.responses.limits;
        let mut stopping = pin!(stopping);
        let mut aged = pin!(sleep(limits.age_max));
        let mut idle = PingTimer::new(limits.ping_interval);
        loop {
            if let Some(reason) = self.responses.closing
                && self.responses.lanes.is_idle()
            {
                self.send_remaining().await?;
                return Err(SocketEnd::Gateway(reason));
            }
            let is_open = self.responses.closing.is_none();
            let event = tokio::select! {
                // In this order, so that a request that comes after the reason to close is not begun.
                biased;
                () = stopping.as_mut(), if is_open => SocketEvent::Closing(CloseReason::Stopping),
                () = aged.as_mut(), if is_open => SocketEvent::Closing(CloseReason::Aged),
                Some(ended) = self.responses.tasks.join_next_with_id() => SocketEvent::Ended(ended),
                input = self.connection.receive() => SocketEvent::Input(input),
                Some(output) = self.output.recv() => SocketEvent::Output(output),
                action = idle.next_action() => SocketEvent::Idle(action),
            };
            let messages = match event {
                SocketEvent::Output(output) => {
                    self.pass_on(output).await?;
                    continue;
                }
                SocketEvent::Ended(ended) => {
                    // Its last messages may still wait.
                    self.send_remaining().await?;
                    self.responses.end(ended)
                }
                SocketEvent::Input(input) => {
                    idle.note_input();
                    match input? {
                        SocketInput::Text(text) => self.responses.receive(text),
                        _ => continue,
                    }
                }
                SocketEvent::Idle(IdlePeerAction::GiveUp) => return Err(SocketEnd::IdleTimeout),
                SocketEvent::Idle(IdlePeerAction::Ping) => {
                    self.connection.ping().await?;
                    continue;
                }
                SocketEvent::Closing(reason) => self.responses.close(reason),
            };
            for message in messages {
                self.connection.send_text(&message).await?;
            }
        }
    }

    async fn pass_on(&mut self, output: ResponseOutput) -> Result<(), SocketEnd> {
        match output {
            ResponseOutput::Message(message) => self.connection.send_text(&message).await,
            ResponseOutput::Completed(completed) => {
                self.responses.history.add(completed);
                Ok(())
            }
        }
    }

    /// Sends what responses that have ended left behind.
    async fn send_remaining(&mut self) -> Result<(), SocketEnd> {
        for _ in 0..WAITING_MESSAGES {
            let Ok(output) = self.output.try_recv() else {
                break;
            };
            self.pass_on(output).await?;
        }
        Ok(())
    }
}

impl<E: SocketExchanges> RunningResponses<E> {
    /// Takes a text message of the client.
    fn receive(&mut self, text: Bytes) -> OwnMessages {
        let request = match ClientEvent::parse(text) {
            Ok(ClientEvent::Create(request)) => request,
            Ok(ClientEvent::Processed) => return OwnMessages::new(),
            Err(invalid) => return vec![invalid.0],
        };
        if let Some(reason) = self.closing {
            return vec![too_late(&request, reason)];
        }
        let stream = request.stream.clone();
        match self.lanes.add(request, self.limits.waiting_bytes_max) {
            Ok(()) => self.begin_waiting(),
            Err(error) => vec![error.encode(stream.as_ref())],
        }
    }

    /// Begins the requests for which there is room.
    fn begin_waiting(&mut self) -> OwnMessages {
        let mut messages = OwnMessages::new();
        while let Some(request) = self.lanes.begin_next() {
            if let Some(own) = self.begin(&request) {
                messages.extend(own);
                self.lanes.end(&request.stream);
            }
        }
        messages
    }

    /// Begins a request; returns its messages if it needs no exchange.
    fn begin(&mut self, request: &ResponseCreate) -> Option<OwnMessages> {
        let stream = request.stream.as_ref();
        let previous = request.previous_response_id();
        let parent = match previous.as_deref().map(|id| self.history.find(id)) {
            None | Some(KnownResponse::Elsewhere) => None,
            Some(KnownResponse::Known(node)) => Some(node),
            Some(KnownResponse::Forgotten) => return Some(vec![not_found(stream)]),
        };
        let body = request.http_body(parent.as_deref());
        let is_warm_up = request.is_warm_up();
        let is_kept_here = is_warm_up || !request.is_stored();
        let conversation = is_kept_here.then(|| ContinuedConversation {
            parent,
            input: request.items(),
        });
        let relay = ResponseRelay {
            stream: request.stream.clone(),
            output: self.sender.clone(),
            conversation,
        };
        let (sender, receiver) = exchange_parts();
        let exchange = self.exchanges.run(body, is_warm_up, sender);
        let task = self.tasks.spawn(async move {
            let ((), ending) = tokio::join!(exchange, relay.run(receiver));
            ending
        });
        self.streams.insert(task.id(), request.stream.clone());
        None
    }

    /// Notes the end of a response, and begins what has waited for it.
    fn end(&mut self, ended: Result<(Id, ResponseEnding), JoinError>) -> OwnMessages {
        let (id, ending) = match ended {
            Ok((id, ending)) => (id, Some(ending)),
            Err(error) => (error.id(), None),
        };
        let stream = self.streams.remove(&id).flatten();
        self.lanes.end(&stream);
        let mut messages = match ending {
            Some(ResponseEnding::Ended) => OwnMessages::new(),
            Some(ResponseEnding::CallerRefused) => self.close(CloseReason::Refused),
            None => {
                let fault = Fault::new(FaultKind::Internal, "internal error; try again");
                vec![ErrorEvent::from_fault(&fault).encode(stream.as_ref())]
            }
        };
        messages.extend(self.begin_waiting());
        messages
    }

    /// Begins no further request; those that wait are refused.
    fn close(&mut self, reason: CloseReason) -> OwnMessages {
        self.closing.get_or_insert(reason);
        let waiting = self.lanes.take_waiting().into_iter();
        waiting.map(|request| too_late(&request, reason)).collect()
    }

    /// Waits until all exchanges have settled.
    async fn settle(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// The code with which clients connect again.
fn too_late(request: &ResponseCreate, reason: CloseReason) -> Bytes {
    let code = "websocket_connection_limit_reached";
    ErrorEvent::for_code(code, reason.text(), None).encode(request.stream.as_ref())
}

fn not_found(stream: Option<&StreamId>) -> Bytes {
    let message = "the response that this request continues is not kept any more; send the whole conversation, without `previous_response_id`";
    ErrorEvent::not_found(message).encode(stream)
}
