//! Turns the response to one request into messages: each event of the stream is one, an error is an event in band.

use super::conversation::{CompletedResponse, ConversationNode};
use super::error_event::ErrorEvent;
use super::output_items::OutputItems;
use super::stream_id::StreamId;
use crate::refusal::refuses_caller;
use crate::response_parts::{EVENT_BYTES_MAX, ExchangePart, ExchangePartReceiver};
use bytes::{Bytes, BytesMut};
use headgate_protocol::Protocol;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::skim;
use headgate_protocol::sse::{SseDecoder, SseEvent};
use headgate_protocol::stream::EventClass;
use http::{HeaderMap, StatusCode, header};
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// What the connection is to do for a response.
#[derive(Debug)]
pub enum ResponseOutput {
    /// A text message.
    Message(Bytes),
    /// A response that can be continued. It precedes the message that ends it.
    Completed(CompletedResponse),
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEnding {
    /// With its last event, or an error.
    Ended,
    /// The caller may send no further request: its key is not valid any more, or its budget is used up.
    CallerRefused,
}

/// The conversation to which a response is to be added.
#[derive(Debug)]
pub struct ContinuedConversation {
    pub parent: Option<Arc<ConversationNode>>,
    /// The items of the request's input.
    pub input: Bytes,
}

/// Relays one response.
pub struct ResponseRelay {
    pub stream: Option<StreamId>,
    pub output: Sender<ResponseOutput>,
    /// `None` if the provider stores the response.
    pub conversation: Option<ContinuedConversation>,
}

/// The connection is gone.
struct NoConnection;

impl ResponseRelay {
    /// Relays the parts of the response until it ends.
    pub async fn run(mut self, mut parts: ExchangePartReceiver) -> ResponseEnding {
        let relayed = match parts.receive().await {
            Some(ExchangePart::Head(status, headers)) if is_stream(status, &headers) => {
                self.relay_stream(&mut parts).await
            }
            Some(ExchangePart::Head(status, headers)) => {
                let (body, is_whole) = parts.read_whole().await;
                if !is_whole {
                    self.send_broken_off().await
                } else if status.is_success() {
                    self.relay_object(&body).await
                } else {
                    let error = ErrorEvent::from_continued_response(status, &headers, &body);
                    let ending = match refuses_caller(status, &body) {
                        true => ResponseEnding::CallerRefused,
                        false => ResponseEnding::Ended,
                    };
                    // If the connection is gone, nobody waits for the error.
                    let _ = self.send(error.encode(self.stream.as_ref())).await;
                    return ending;
                }
            }
            _ => self.send_broken_off().await,
        };
        // The exchange notices by itself that the connection is gone.
        let _ = relayed;
        ResponseEnding::Ended
    }

    async fn relay_stream(&mut self, parts: &mut ExchangePartReceiver) -> Result<(), NoConnection> {
        let mut decoder = SseDecoder::new(EVENT_BYTES_MAX);
        let mut output = OutputItems::default();
        let mut has_ended = false;
        while let Some(part) = parts.receive().await {
            let ExchangePart::Body(piece) = part else {
                break;
            };
            decoder.push(&piece);
            while let Some(event) = decoder.next() {
                has_ended |= self.relay_event(&event, &mut output).await?;
            }
        }
        if let Some(event) = decoder.finish() {
            has_ended |= self.relay_event(&event, &mut output).await?;
        }
        match has_ended {
            true => Ok(()),
            false => self.send_broken_off().await,
        }
    }

    /// Relays an event; returns whether it ends the response.
    async fn relay_event(
        &mut self,
        event: &SseEvent,
        output: &mut OutputItems,
    ) -> Result<bool, NoConnection> {
        let data = event.shared_data();
        // A comment, or the end marker of streams of other protocols.
        if data.is_empty() || data.starts_with(b"[DONE]") {
            return Ok(false);
        }
        let streams = &Protocol::OVER_WEBSOCKETS.descriptor().streams;
        let class = streams.event_class(event.name(), &data);
        match class {
            EventClass::Error => {
                let error = ErrorEvent::from_stream_event(&data);
                let message = match error {
                    Some(error) => error.encode(self.stream.as_ref()),
                    None => with_stream_id(&data, self.stream.as_ref()),
                };
                self.send(message).await?;
                return Ok(true);
            }
            EventClass::Terminal { failed: false } => self.complete(&data, output).await?,
            _ if self.conversation.is_some() => output.add_event(&data),
            _ => {}
        }
        self.send(with_stream_id(&data, self.stream.as_ref()))
            .await?;
        Ok(matches!(class, EventClass::Terminal { .. }))
    }

    /// A response that is one object, as a cache may have it.
    async fn relay_object(&mut self, body: &Bytes) -> Result<(), NoConnection> {
        let last = [
            &br#"{"type":"response.completed","sequence_number":0,"response":"#[..],
            body,
            b"}",
        ];
        let last = Bytes::from(last.concat());
        self.complete(&last, &mut OutputItems::default()).await?;
        self.send(with_stream_id(&last, self.stream.as_ref())).await
    }

    /// Makes a completed response one that can be continued.
    async fn complete(
        &mut self,
        event: &[u8],
        output: &mut OutputItems,
    ) -> Result<(), NoConnection> {
        let id = skim::find_string(event, &["response", "id"]);
        let (Some(ContinuedConversation { parent, input }), Some(id)) =
            (self.conversation.take(), id)
        else {
            return Ok(());
        };
        let completed = CompletedResponse {
            id: id.to_owned(),
            parent,
            items: output.after(input, event),
        };
        let output = self.output.send(ResponseOutput::Completed(completed));
        output.await.map_err(|_| NoConnection)
    }

    async fn send_broken_off(&mut self) -> Result<(), NoConnection> {
        let fault = Fault::new(FaultKind::Upstream, "the response broke off; try again");
        let error = ErrorEvent::from_fault(&fault);
        self.send(error.encode(self.stream.as_ref())).await
    }

    async fn send(&self, message: Bytes) -> Result<(), NoConnection> {
        let sent = self.output.send(ResponseOutput::Message(message)).await;
        sent.map_err(|_| NoConnection)
    }
}

/// An event with the `stream_id` of its request.
fn with_stream_id(event: &Bytes, stream: Option<&StreamId>) -> Bytes {
    let (Some(stream), Some(members)) = (stream, event.strip_prefix(b"{")) else {
        return event.clone();
    };
    let comma = match members.trim_ascii_start().starts_with(b"}") {
        true => "",
        false => ",",
    };
    let mut named = BytesMut::from(format!(r#"{{"stream_id":"{stream}"{comma}"#).as_bytes());
    named.extend_from_slice(members);
    named.freeze()
}

fn is_stream(status: StatusCode, headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    status.is_success()
        && media_type.is_some_and(|media_type| media_type.starts_with("text/event-stream"))
}
