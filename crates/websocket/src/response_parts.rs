//! The response to one request of a WebSocket, in parts, from the exchange that makes it to the connection.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Number of parts that may wait: an exchange waits for a slow connection as it does for a slow caller of HTTP.
const WAITING_PARTS: usize = 4;
/// Maximum size of an event, and of a response that is no stream, in bytes.
pub const EVENT_BYTES_MAX: usize = 64 << 20;

/// A part of a response.
#[derive(Debug)]
pub enum ExchangePart {
    Head(StatusCode, HeaderMap),
    Body(Bytes),
    /// The response is complete. A response without it broke off.
    End,
}

/// Where an exchange writes its response.
#[derive(Debug)]
pub struct ExchangePartSender(Sender<ExchangePart>);

/// Where the connection gets it.
#[derive(Debug)]
pub struct ExchangePartReceiver(Receiver<ExchangePart>);

/// The connection does not want the response any more.
#[derive(Debug, PartialEq, Eq)]
pub struct NoReceiver;

/// The two ends of a response.
pub fn exchange_parts() -> (ExchangePartSender, ExchangePartReceiver) {
    let (sender, receiver) = mpsc::channel(WAITING_PARTS);
    (ExchangePartSender(sender), ExchangePartReceiver(receiver))
}

impl ExchangePartSender {
    /// Passes a part on, as soon as there is room.
    ///
    /// # Errors
    /// Nobody waits for it.
    pub async fn send(&self, part: ExchangePart) -> Result<(), NoReceiver> {
        self.0.send(part).await.map_err(|_| NoReceiver)
    }

    /// Waits until nobody waits for the response any more.
    pub async fn until_receiver_is_gone(&self) {
        self.0.closed().await;
    }
}

impl ExchangePartReceiver {
    /// The next part; `None` after the last one, and where the response broke off.
    pub async fn receive(&mut self) -> Option<ExchangePart> {
        self.0.recv().await
    }

    /// The body of a response that is no stream, and whether it is complete.
    pub async fn read_whole(&mut self) -> (Bytes, bool) {
        let mut body = BytesMut::new();
        loop {
            match self.receive().await {
                Some(ExchangePart::Body(piece)) if body.len() + piece.len() <= EVENT_BYTES_MAX => {
                    body.extend_from_slice(&piece);
                }
                Some(ExchangePart::End) => return (body.freeze(), true),
                _ => return (body.freeze(), false),
            }
        }
    }
}
