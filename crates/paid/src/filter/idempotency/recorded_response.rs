//! Recorded responses: small bodies are in the record, larger ones in the media store, where no URL leads to them.

use crate::journal::{INLINE_BODY_MAX, RecordedBody, RecordedResponse};
use bytes::Bytes;
use headgate_core::filter::streamed_reply::{ReplyBodyReader, ReplyPieceFuture, StreamedReply};
use headgate_core::filter::{FilterAction, LocalReply};
use headgate_core::large_bodies::{
    BodyStoreRetryPolicy, LargeResponseReader, LargeResponseStoreHandle, StoredBodyReference,
};
use headgate_core::request_id::RequestId;
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Set on a response that was recorded.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// How much longer than the record a body is kept in the media store: the record is written after it, and again when
/// the response was delivered.
const LIFETIME_MARGIN: Duration = Duration::from_secs(60 * 60);

/// Stores the response to one request.
pub(super) struct CreateResponseBodyStore {
    pub bodies: Arc<LargeResponseStoreHandle>,
    /// The caller that a stored body counts for.
    pub caller: Option<Arc<str>>,
    pub request_id: RequestId,
    /// How long the record of the response is kept.
    pub keep: Duration,
}

impl CreateResponseBodyStore {
    /// The response with its body; `None` if the body cannot be kept.
    pub async fn keep(
        &self,
        head: RecordedResponse,
        body: Bytes,
        deadline: BodyStoreRetryPolicy,
    ) -> Option<RecordedResponse> {
        let body = match body.len() <= INLINE_BODY_MAX {
            true => RecordedBody::Inline { bytes: body },
            false => self.store(body, deadline).await?,
        };
        Some(RecordedResponse { body, ..head })
    }

    async fn store(&self, body: Bytes, deadline: BodyStoreRetryPolicy) -> Option<RecordedBody> {
        let caller = self.caller.as_ref()?;
        let lifetime = self.keep + LIFETIME_MARGIN;
        let put = self.bodies.0.put(caller, body, lifetime, deadline);
        match put.await {
            Ok(StoredBodyReference { sha256, size }) => Some(RecordedBody::Stored { sha256, size }),
            Err(error) => {
                tracing::warn!(
                    id = &*self.request_id, %error,
                    "cannot keep the response to a paid create in the media store; its duplicates get 409"
                );
                None
            }
        }
    }
}

/// The headers of a response without those of its exchange.
pub(super) fn recorded_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_of_exchange = |name: &str| {
        matches!(
            name,
            "content-length"
                | "date"
                | "openai-processing-ms"
                | "retry-after"
                | "retry-after-ms"
                | "x-headgate-attempts"
                | "x-headgate-model"
                | "x-request-id"
        ) || name.starts_with("x-ratelimit-")
            || name.starts_with("anthropic-ratelimit-")
    };
    let recorded = headers.iter();
    recorded
        .filter(|(name, _)| !is_of_exchange(name.as_str()))
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect()
}

/// The reply with a recorded response; `None` if its body is not kept any more.
///
/// # Errors
/// The media store cannot be read.
pub(super) async fn replay(
    bodies: &LargeResponseStoreHandle,
    response: RecordedResponse,
    body_end: &ReplayBodyEndFlag,
) -> Result<Option<FilterAction>, Fault> {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::OK);
    let mut headers = HeaderMap::new();
    for (name, value) in &response.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            headers.append(name, value);
        }
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    headers.remove(header::CONTENT_LENGTH);
    let stored = match response.body {
        RecordedBody::Inline { bytes } => {
            body_end.reach();
            return Ok(Some(
                LocalReply {
                    status,
                    headers,
                    body: bytes,
                }
                .into(),
            ));
        }
        RecordedBody::Stored { sha256, size } => StoredBodyReference { sha256, size },
    };
    let opened = bodies.0.open(&stored).await;
    Ok(opened.map_err(unreadable)?.map(|reader| {
        StreamedReply {
            status,
            headers,
            length: Some(stored.size),
            body: Some(Box::new(StoredBodyReader {
                reader,
                end: body_end.clone(),
            })),
        }
        .into()
    }))
}

/// Whether the body of a replay was read to its end; shared by the reader of the body and the end of the exchange.
#[derive(Clone, Default)]
pub(super) struct ReplayBodyEndFlag(Arc<AtomicBool>);

impl ReplayBodyEndFlag {
    fn reach(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn was_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct StoredBodyReader {
    reader: Box<dyn LargeResponseReader>,
    end: ReplayBodyEndFlag,
}

impl ReplyBodyReader for StoredBodyReader {
    fn next_piece(&mut self) -> ReplyPieceFuture<'_> {
        Box::pin(async {
            let piece = self.reader.next_piece().await.map_err(unreadable)?;
            if piece.is_none() {
                self.end.reach();
            }
            Ok(piece)
        })
    }
}

fn unreadable(error: Box<dyn Error + Send + Sync>) -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the response to the first request with this `Idempotency-Key` cannot be read at the moment; try again",
    )
    .source(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::large_bodies::{LargeBodyFuture, LargeResponseStore};
    use std::sync::Mutex;

    const PIECES: usize = 12;
    const HEAD: RecordedResponse = RecordedResponse {
        status: 200,
        headers: Vec::new(),
        body: RecordedBody::Inline {
            bytes: Bytes::new(),
        },
    };

    /// A store of one body, whose readers fail after the first piece if it is cut.
    #[derive(Default)]
    struct OneBody {
        body: Mutex<Bytes>,
        is_cut: AtomicBool,
    }

    struct PieceReader {
        rest: Bytes,
        piece: usize,
        is_cut: bool,
    }

    impl LargeResponseStore for OneBody {
        fn put<'a>(
            &'a self,
            _caller: &'a str,
            body: Bytes,
            _lifetime: Duration,
            _deadline: BodyStoreRetryPolicy,
        ) -> LargeBodyFuture<'a, StoredBodyReference> {
            let size = body.len() as u64;
            *self.body.lock().unwrap() = body;
            let sha256 = "0".repeat(64);
            Box::pin(async move { Ok(StoredBodyReference { sha256, size }) })
        }

        fn open<'a>(
            &'a self,
            _body: &'a StoredBodyReference,
        ) -> LargeBodyFuture<'a, Option<Box<dyn LargeResponseReader>>> {
            let rest = self.body.lock().unwrap().clone();
            let reader = PieceReader {
                piece: rest.len() / PIECES,
                rest,
                is_cut: self.is_cut.load(Ordering::Relaxed),
            };
            Box::pin(async move { Ok(Some(Box::new(reader) as Box<dyn LargeResponseReader>)) })
        }

        fn file_lifetime(&self) -> Duration {
            Duration::MAX
        }
    }

    impl LargeResponseReader for PieceReader {
        fn next_piece(&mut self) -> LargeBodyFuture<'_, Option<Bytes>> {
            let is_first = self.rest.len() > self.piece * (PIECES - 1);
            let next = match (self.is_cut && !is_first, self.rest.is_empty()) {
                (true, _) => Err("the body is not complete any more".into()),
                (false, true) => Ok(None),
                (false, false) => Ok(Some(self.rest.split_to(self.piece))),
            };
            Box::pin(async { next })
        }
    }

    #[tokio::test]
    async fn only_a_body_that_was_read_to_its_end_was_delivered() {
        let kept = Arc::new(OneBody::default());
        let store = CreateResponseBodyStore {
            bodies: Arc::new(LargeResponseStoreHandle(kept.clone())),
            caller: Some("ann".into()),
            request_id: "req_1".into(),
            keep: Duration::from_secs(60),
        };
        let body = Bytes::from(vec![7; 250_000 * PIECES]);
        let deadline = BodyStoreRetryPolicy::BEFORE_DELIVERY;
        let response = store.keep(HEAD, body, deadline).await.unwrap();
        for is_cut in [false, true] {
            kept.is_cut.store(is_cut, Ordering::Relaxed);
            let end = ReplayBodyEndFlag::default();
            let action = replay(&store.bodies, response.clone(), &end).await.unwrap();
            let Some(FilterAction::StreamedReply(reply)) = action else {
                panic!("the body is in the store");
            };
            let mut body = reply.body.expect("the reply has a body");
            let outcome = loop {
                match body.next_piece().await {
                    Ok(Some(_)) => assert!(!end.was_reached()),
                    Ok(None) => break Ok(()),
                    Err(fault) => break Err(fault.kind),
                }
            };
            assert_eq!(outcome.is_err(), is_cut, "{outcome:?}");
            assert_eq!(end.was_reached(), !is_cut);
        }
    }
}
