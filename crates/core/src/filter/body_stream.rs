//! A request body that passes to the provider piece by piece while it arrives.
//!
//! At most one piece waits between the two sides, so that a provider that reads slowly slows down the caller.

use bytes::Bytes;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The caller's side: adds pieces. If it is dropped before [`Self::end`], the body is truncated.
pub struct RequestBodySender(Arc<Mutex<PieceSlot>>);

/// The provider's side: takes pieces. All clones share one body, and each piece is taken once.
#[derive(Clone)]
pub struct RequestBodyReceiver {
    length: Option<u64>,
    slot: Arc<Mutex<PieceSlot>>,
}

/// The caller's side was dropped before the end of the body.
#[derive(Debug, thiserror::Error)]
#[error("the request's body broke off")]
pub struct TruncatedRequestBody;

/// State that both sides share.
#[derive(Default)]
struct PieceSlot {
    content: PieceSlotState,
    /// Whether the caller's side was dropped. After a complete body, `content` holds the end by then.
    is_abandoned: bool,
    sender: Option<Waker>,
    receiver: Option<Waker>,
    /// Whether a piece or the end was taken.
    is_begun: bool,
    /// Since when the provider's side has waited for a piece.
    waiting_since: Option<Instant>,
    waited: Duration,
}

#[derive(Default)]
enum PieceSlotState {
    #[default]
    Empty,
    Piece(Bytes),
    End,
}

/// Both sides of a body. `length` is the declared length in bytes, if the caller declares one.
pub fn body_stream(length: Option<u64>) -> (RequestBodySender, RequestBodyReceiver) {
    let slot = Arc::<Mutex<PieceSlot>>::default();
    let sender = RequestBodySender(slot.clone());
    (sender, RequestBodyReceiver { length, slot })
}

impl RequestBodySender {
    /// Adds a piece as soon as the previous one was taken. Ignores an empty piece, which would end a chunked body.
    pub async fn send(&self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.until_empty().await.put(PieceSlotState::Piece(piece));
    }

    /// Marks the end of a complete body.
    pub async fn end(self) {
        self.until_empty().await.put(PieceSlotState::End);
    }

    async fn until_empty(&self) -> MutexGuard<'_, PieceSlot> {
        poll_fn(|context| {
            let mut slot = lock(&self.0);
            match slot.content {
                PieceSlotState::Empty => Poll::Ready(slot),
                _ => {
                    slot.sender = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Drop for RequestBodySender {
    fn drop(&mut self) {
        let mut slot = lock(&self.0);
        slot.is_abandoned = true;
        slot.wake_receiver();
    }
}

impl fmt::Debug for RequestBodyReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBodyReceiver")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl RequestBodyReceiver {
    /// The declared length in bytes.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Whether any piece was taken. The body can then no longer be sent from its start.
    pub fn is_begun(&self) -> bool {
        lock(&self.slot).is_begun
    }

    /// How long the provider's side has waited for pieces.
    pub fn waited(&self) -> Duration {
        lock(&self.slot).waited
    }

    /// The next piece; `None` after the last one.
    ///
    /// # Errors
    /// The caller's side was dropped before the end.
    pub async fn next(&self) -> Result<Option<Bytes>, TruncatedRequestBody> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Like [`Self::next`].
    pub fn poll_next(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, TruncatedRequestBody>> {
        lock(&self.slot).poll_take(context)
    }
}

impl PieceSlot {
    fn put(&mut self, content: PieceSlotState) {
        self.content = content;
        self.wake_receiver();
    }

    fn wake_receiver(&mut self) {
        if let Some(receiver) = self.receiver.take() {
            receiver.wake();
        }
    }

    fn poll_take(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, TruncatedRequestBody>> {
        let taken = match std::mem::take(&mut self.content) {
            PieceSlotState::Piece(piece) => Ok(Some(piece)),
            PieceSlotState::End => Ok(None),
            PieceSlotState::Empty if self.is_abandoned => {
                return Poll::Ready(Err(TruncatedRequestBody));
            }
            PieceSlotState::Empty => {
                self.waiting_since.get_or_insert_with(Instant::now);
                self.receiver = Some(context.waker().clone());
                return Poll::Pending;
            }
        };
        self.is_begun = true;
        if let Some(since) = self.waiting_since.take() {
            self.waited += since.elapsed();
        }
        if let Some(sender) = self.sender.take() {
            sender.wake();
        }
        Poll::Ready(taken)
    }
}

fn lock(slot: &Mutex<PieceSlot>) -> MutexGuard<'_, PieceSlot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::body_stream;
    use bytes::Bytes;
    use std::time::Duration;
    use tokio::time::timeout;

    const SHORT: Duration = Duration::from_millis(30);

    #[tokio::test]
    async fn pieces_come_out_in_order_and_one_at_most_waits() {
        let (sender, stream) = body_stream(Some(2));
        assert!(!stream.is_begun());
        sender.send(Bytes::from_static(b"a")).await;
        let mut second = Box::pin(sender.send(Bytes::from_static(b"b")));
        assert!(timeout(SHORT, &mut second).await.is_err());
        let clone = stream.clone();
        assert_eq!(clone.next().await.unwrap().unwrap(), "a");
        assert!(stream.is_begun());
        second.await;
        assert_eq!(stream.next().await.unwrap().unwrap(), "b");
        sender.end().await;
        assert!(stream.next().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn an_empty_piece_is_left_out() {
        let (sender, stream) = body_stream(None);
        sender.send(Bytes::new()).await;
        sender.send(Bytes::from_static(b"a")).await;
        assert_eq!(stream.next().await.unwrap().unwrap(), "a");
    }

    #[tokio::test]
    async fn a_body_without_its_end_is_truncated() {
        let (sender, stream) = body_stream(None);
        sender.send(Bytes::from_static(b"a")).await;
        drop(sender);
        assert!(stream.next().await.is_ok());
        assert!(stream.next().await.is_err());
    }

    #[tokio::test]
    async fn the_wait_for_pieces_is_measured() {
        let (sender, stream) = body_stream(None);
        let later = async {
            tokio::time::sleep(SHORT).await;
            sender.send(Bytes::from_static(b"a")).await;
        };
        let (_, piece) = tokio::join!(later, stream.next());
        assert!(piece.is_ok() && stream.waited() >= SHORT);
    }
}
