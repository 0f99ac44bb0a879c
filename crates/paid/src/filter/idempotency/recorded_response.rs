//! Recorded responses: small bodies are in the record, larger ones in the media store, where no URL leads to them.

use crate::journal::{INLINE_BODY_MAX, RecordedBody, RecordedResponse};
use bytes::Bytes;
use headgate_core::filter::streamed_reply::{ReplyBodyReader, ReplyPieceFuture, StreamedReply};
use headgate_core::filter::{FilterAction, LocalReply};
use headgate_media::{ContentDigest, MediaStore, MediaStoreError, ObjectReader, StoreDeadline};
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Set on a response that was recorded.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// How much longer than the record a body is kept in the media store: the record is written after it, and again when
/// the response was delivered.
const LIFETIME_MARGIN: Duration = Duration::from_secs(60 * 60);

/// Stores the response to one request.
pub(super) struct ResponseBodyStore {
    pub media: Arc<MediaStore>,
    /// The caller that a stored body counts for.
    pub caller: Option<Arc<str>>,
    pub request_id: Arc<str>,
    /// How long the record of the response is kept.
    pub keep: Duration,
}

impl ResponseBodyStore {
    /// The response with its body; `None` if the body cannot be kept.
    pub async fn keep(
        &self,
        head: RecordedResponse,
        body: Bytes,
        deadline: StoreDeadline,
    ) -> Option<RecordedResponse> {
        let body = match body.len() <= INLINE_BODY_MAX {
            true => RecordedBody::Inline { bytes: body },
            false => self.store(body, deadline).await?,
        };
        Some(RecordedResponse { body, ..head })
    }

    async fn store(&self, body: Bytes, deadline: StoreDeadline) -> Option<RecordedBody> {
        let caller = self.caller.as_ref()?;
        let lifetime = self.keep + LIFETIME_MARGIN;
        let put = self
            .media
            .put_response_body(caller, body, lifetime, deadline);
        match put.await {
            Ok(object) => Some(RecordedBody::Stored {
                sha256: object.digest.to_string(),
                size: object.size,
            }),
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
                | "x-request-id"
        ) || name.starts_with("x-ratelimit-")
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
    media: &Arc<MediaStore>,
    response: RecordedResponse,
    body_end: &ReplayBodyEnd,
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
    let (sha256, size) = match response.body {
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
        RecordedBody::Stored { sha256, size } => (sha256, size),
    };
    let Some(digest) = ContentDigest::from_hex(&sha256) else {
        return Ok(None);
    };
    let opened = media.open_response_body(digest, size).await;
    Ok(opened.map_err(unreadable)?.map(|reader| {
        StreamedReply {
            status,
            headers,
            length: size,
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
pub(super) struct ReplayBodyEnd(Arc<AtomicBool>);

impl ReplayBodyEnd {
    fn reach(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn was_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

struct StoredBodyReader {
    reader: ObjectReader,
    end: ReplayBodyEnd,
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

fn unreadable(error: MediaStoreError) -> Fault {
    Fault::new(
        FaultKind::Overloaded,
        "the response to the first request with this `Idempotency-Key` cannot be read at the moment; try again",
    )
    .source(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headgate_core::state::memory::MemoryStore;
    use headgate_media::{MediaLimits, MediaLocation, MediaSettings};
    use std::path::{Path, PathBuf};

    /// Makes all files of a directory empty.
    fn truncate_files(directory: &Path) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => truncate_files(&path),
                false => std::fs::write(path, "").unwrap(),
            }
        }
    }

    const HEAD: RecordedResponse = RecordedResponse {
        status: 200,
        headers: Vec::new(),
        body: RecordedBody::Inline {
            bytes: Bytes::new(),
        },
    };

    /// A store in a new directory.
    fn new_store() -> (PathBuf, ResponseBodyStore) {
        let directory =
            std::env::temp_dir().join(format!("headgate-replay-{}", std::process::id()));
        let settings = MediaSettings {
            location: MediaLocation::Directory(directory.clone()),
            ttl: Duration::from_secs(60),
            limits: MediaLimits {
                objects_per_caller: 4,
                bytes_per_caller: 10_000_000,
                bytes: 10_000_000,
            },
        };
        let state = Arc::new(MemoryStore::default());
        let media = Arc::new(MediaStore::new(settings, state, Arc::default()).unwrap());
        let store = ResponseBodyStore {
            media,
            caller: Some("ann".into()),
            request_id: "req_1".into(),
            keep: Duration::from_secs(60),
        };
        (directory, store)
    }

    #[tokio::test]
    async fn only_a_body_that_was_read_to_its_end_was_delivered() {
        let (directory, store) = new_store();
        let media = store.media.clone();
        let body = Bytes::from(vec![7; 3_000_000]);
        let deadline = StoreDeadline::BEFORE_DELIVERY;
        let response = store.keep(HEAD, body, deadline).await.unwrap();
        for is_cut in [false, true] {
            let end = ReplayBodyEnd::default();
            let action = replay(&media, response.clone(), &end).await.unwrap();
            let Some(FilterAction::StreamedReply(reply)) = action else {
                panic!("the body is in the media store");
            };
            let mut body = reply.body.expect("the reply has a body");
            if is_cut {
                truncate_files(&directory);
            }
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
        std::fs::remove_dir_all(directory).unwrap();
    }
}
