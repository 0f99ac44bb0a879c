//! Responses that last: streams of events to browsers and terminals, of which there is a bounded number.

use super::refusal::AdminRefusal;
use bytes::Bytes;
use headgate_core::serve::{AppResponse, AppResponseBodyStream};
use http::{HeaderValue, header};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The maximum number of streams at one time; further requests get 503.
pub const EVENT_STREAMS_MAX: usize = 64;

/// The streams of events of the process.
#[derive(Clone)]
pub struct EventStreamQuota {
    free: Arc<Semaphore>,
}

/// A stream that counts until the client disconnects.
struct CountedStream<S> {
    stream: S,
    _counted: OwnedSemaphorePermit,
}

impl Default for EventStreamQuota {
    fn default() -> Self {
        Self {
            free: Arc::new(Semaphore::new(EVENT_STREAMS_MAX)),
        }
    }
}

impl EventStreamQuota {
    /// Responds with a stream of server-sent events, or with 503 if there are too many.
    pub fn respond(&self, stream: impl AppResponseBodyStream + 'static) -> AppResponse {
        match self.free.clone().try_acquire_owned() {
            Ok(counted) => {
                let stream = CountedStream {
                    stream,
                    _counted: counted,
                };
                let no_buffer = header::HeaderName::from_static("x-accel-buffering");
                AppResponse::streamed("text/event-stream", stream)
                    .with_header(no_buffer, HeaderValue::from_static("no"))
            }
            Err(_) => {
                let max = EVENT_STREAMS_MAX;
                AdminRefusal::TooManyStreams { max }.response()
            }
        }
    }

    /// The number of streams now.
    pub fn open(&self) -> usize {
        EVENT_STREAMS_MAX - self.free.available_permits()
    }
}

impl<S: AppResponseBodyStream> AppResponseBodyStream for CountedStream<S> {
    fn next_piece(&mut self) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + '_>> {
        self.stream.next_piece()
    }
}
