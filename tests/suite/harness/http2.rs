//! An HTTP/2 client connection that shows how each stream ends.

use super::connection::Headers;
use super::{PATIENCE, Request, WholeResponse};
use bytes::Bytes;
use h2::client::{self, SendRequest};
use h2::{Reason, RecvStream, SendStream};
use std::future::poll_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

/// A connection; a clone opens streams on the same connection.
#[derive(Clone)]
pub struct Http2 {
    sender: SendRequest<Bytes>,
}

/// A request that was sent, as far as the peer allows, and has no response yet.
pub struct PendingResponse {
    answer: client::ResponseFuture,
    stream: SendStream<Bytes>,
}

/// A response whose body has not been read.
pub struct Http2Reply {
    pub status: u16,
    pub headers: Headers,
    body: RecvStream,
    stream: SendStream<Bytes>,
}

impl Http2 {
    pub async fn over(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        // A stream that is not read must not use up the connection's window.
        let handshake = client::Builder::new()
            .initial_connection_window_size(16 << 20)
            .handshake(stream);
        let (sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        Self { sender }
    }

    pub async fn ask(&self, request: &Request) -> WholeResponse {
        self.open(request).await.rest().await.0
    }

    /// Sends a request and reads the head of its response.
    pub async fn open(&self, request: &Request) -> Http2Reply {
        self.send(request).await.reply().await
    }

    /// Sends a request; stops sending its body when the peer wants no more of it.
    pub async fn send(&self, request: &Request) -> PendingResponse {
        self.send_all(request).await.0
    }

    /// Sends a request with its whole body before reading anything of the response, as many clients do. Returns `false`
    /// if the peer did not accept the whole body.
    pub async fn send_all(&self, request: &Request) -> (PendingResponse, bool) {
        let mut sender = self.sender.clone().ready().await.unwrap();
        let ends = request.body.is_none();
        let (answer, mut stream) = sender.send_request(head_of(request), ends).unwrap();
        let mut whole = true;
        if let Some(body) = &request.body {
            let sent = write(&mut stream, Bytes::from(body.clone()));
            whole = timeout(PATIENCE, sent).await.expect("the body is stuck");
        }
        (PendingResponse { answer, stream }, whole)
    }

    /// Whether the peer accepts no more requests on this connection.
    pub async fn is_closing(&self) -> bool {
        self.sender.clone().ready().await.is_err()
    }

    /// Sends a head that announces a body, and none of the body.
    pub async fn send_head(&self, request: &Request) -> PendingResponse {
        let mut sender = self.sender.clone().ready().await.unwrap();
        let (answer, stream) = sender.send_request(head_of(request), false).unwrap();
        PendingResponse { answer, stream }
    }
}

impl PendingResponse {
    /// How many of `wanted` bytes the peer accepts before it has read any.
    pub async fn room(mut self, wanted: usize) -> usize {
        self.stream.reserve_capacity(wanted);
        let room = poll_fn(|context| self.stream.poll_capacity(context)).await;
        room.unwrap().unwrap()
    }

    /// The stream of the request's body.
    pub fn body(&mut self) -> &mut SendStream<Bytes> {
        &mut self.stream
    }

    pub async fn reply(self) -> Http2Reply {
        let answer = timeout(PATIENCE, self.answer).await.expect("no answer");
        let (head, body) = answer.unwrap().into_parts();
        Http2Reply {
            status: head.status.as_u16(),
            headers: Headers::from(&head.headers),
            body,
            stream: self.stream,
        }
    }

    pub fn reset(mut self) {
        self.stream.send_reset(Reason::CANCEL);
    }
}

impl Http2Reply {
    /// The next piece of the body; `None` after END_STREAM.
    ///
    /// # Errors
    /// The stream or its connection ended in another way.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, h2::Error> {
        let piece = timeout(PATIENCE, self.body.data()).await;
        let piece = piece.expect("nothing came, nor did the stream end");
        let piece = piece.transpose()?;
        if let Some(piece) = &piece {
            self.body.flow_control().release_capacity(piece.len())?;
        }
        Ok(piece)
    }

    /// Reads until the text of the body contains `needle`; returns the text so far.
    pub async fn until(&mut self, needle: &str) -> String {
        let mut text = String::new();
        while !text.contains(needle) {
            let piece = self.piece().await.unwrap();
            let piece = piece.unwrap_or_else(|| panic!("the end before `{needle}`: {text}"));
            text.push_str(std::str::from_utf8(&piece).unwrap());
        }
        text
    }

    /// Reads the rest of the body; returns the reason if the stream was reset.
    pub async fn rest(mut self) -> (WholeResponse, Option<Reason>) {
        let mut body = Vec::new();
        let ended = loop {
            match self.piece().await {
                Ok(Some(piece)) => body.extend_from_slice(&piece),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let answer = WholeResponse {
            status: self.status,
            headers: self.headers,
            body,
            whole: ended.is_none(),
        };
        (answer, ended.and_then(|error| error.reason()))
    }

    /// The reason with which the peer resets the stream.
    pub async fn reset_by_peer(&mut self) -> Reason {
        let reset = poll_fn(|context| self.stream.poll_reset(context));
        let reset = timeout(PATIENCE, reset).await.expect("no reset");
        reset.expect("the connection ended")
    }

    /// Sends a body of this many bytes, as long as the peer accepts it.
    pub async fn send_until_reset(&mut self, bytes: usize) {
        let sent = write(&mut self.stream, vec![b' '; bytes].into());
        timeout(PATIENCE, sent).await.expect("the body is stuck");
    }

    /// Sends a small piece of the request's body without ending it.
    pub fn send_piece(&mut self, piece: &'static [u8]) -> bool {
        let piece = Bytes::from_static(piece);
        self.stream.send_data(piece, false).is_ok()
    }

    pub fn reset(mut self) {
        self.stream.send_reset(Reason::CANCEL);
    }
}

fn head_of(request: &Request) -> http::Request<()> {
    let mut head = http::Request::builder()
        .method(request.method.as_str())
        .uri(format!("https://gate.test{}", request.target))
        .version(http::Version::HTTP_2);
    for (name, value) in &request.headers {
        if !name.eq_ignore_ascii_case("host") {
            head = head.header(name, value);
        }
    }
    if let Some(body) = request.body.as_ref().filter(|_| request.declares_length()) {
        head = head.header("content-length", body.len());
    }
    head.body(()).unwrap()
}

/// Sends as much as the windows allow, until everything is sent or the peer wants no more.
async fn write(stream: &mut SendStream<Bytes>, mut body: Bytes) -> bool {
    while !body.is_empty() {
        stream.reserve_capacity(body.len());
        let Some(Ok(room)) = poll_fn(|context| stream.poll_capacity(context)).await else {
            return false;
        };
        let piece = body.split_to(room.min(body.len()));
        if stream.send_data(piece, body.is_empty()).is_err() {
            return false;
        }
    }
    true
}
