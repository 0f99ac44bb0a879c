//! Responses that directives break off: streams that begin with a fault, and bodies of which half is sent.

use super::directive::Directives;
use super::endpoint_result::EventStreamSource;
use super::request_log::OpenExchangeGuard;
use super::request_record::ResponseEnd;
use super::stream::EventSender;
use crate::http_response::{BodyChunk, SimulatedBody};
use bytes::Bytes;
use tokio::sync::mpsc;

/// What a stream does after its head.
#[derive(Clone, Copy)]
pub enum StreamStartBehavior {
    Play,
    Cut,
    ErrorEvent,
    Malformed,
}

impl StreamStartBehavior {
    pub fn from_directives(directives: &Directives) -> Self {
        if directives.cut {
            Self::Cut
        } else if directives.error_event_first {
            Self::ErrorEvent
        } else if directives.malformed {
            Self::Malformed
        } else {
            Self::Play
        }
    }
}

/// Sends the events of a stream.
pub async fn run_stream(
    stream_response: Box<dyn EventStreamSource>,
    mut stream: EventSender,
    opening: StreamStartBehavior,
) {
    const MALFORMED: &[u8] = b"data: {\"id\":\"simulated\",\"choices\":[{\n\n";
    let ending = match opening {
        StreamStartBehavior::Play => stream_response.send(&mut stream).await.err(),
        StreamStartBehavior::Cut => Some(stream.cut().await),
        StreamStartBehavior::ErrorEvent => Some(stream.error_event().await),
        StreamStartBehavior::Malformed => stream.event(Bytes::from_static(MALFORMED)).await.err(),
    };
    stream.finish(ending.unwrap_or(ResponseEnd::Complete)).await;
}

/// `half` of a body, followed by a closed connection.
pub fn cut_off(half: Bytes, open_request: OpenExchangeGuard) -> SimulatedBody {
    let (sender, receiver) = mpsc::channel(2);
    for chunk in [BodyChunk::Data(half), BodyChunk::Cut] {
        let sent = sender.try_send(chunk);
        debug_assert!(sent.is_ok(), "there is room for two");
    }
    open_request.end(ResponseEnd::Cut);
    SimulatedBody::Stream(receiver)
}

/// `half` of a body, and then nothing until the client leaves.
pub fn stalled(half: Bytes, open_request: OpenExchangeGuard) -> SimulatedBody {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let sent = sender.send(BodyChunk::Data(half)).await;
        if sent.is_ok() {
            sender.closed().await;
        }
        open_request.end(ResponseEnd::ClientLeft);
    });
    SimulatedBody::Stream(receiver)
}
