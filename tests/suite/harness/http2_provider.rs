//! An HTTP/2 provider with a scripted response for each stream; it counts them.

use bytes::Bytes;
use h2::server::{self, SendResponse};
use h2::{Reason, RecvStream};
use http::{Request, Response, StatusCode};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

pub struct Http2Provider {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    /// The number of connections that have ended.
    pub closed: Arc<AtomicUsize>,
    streams: Arc<Mutex<Vec<ScriptedStreamResponse>>>,
    seen: Arc<AtomicUsize>,
}

/// What happens after a whole request was received.
#[derive(Clone, Copy, Debug)]
pub enum ScriptedStreamResponse {
    Answer,
    /// Sends `103 Early Hints` before the response.
    HintAndAnswer,
    Reset(Reason),
    /// Responds, and sends GOAWAY, so that no further stream opens on this connection.
    RespondThenGoaway,
    /// Closes the connection with all its streams.
    Close,
}

const BODY: &str = r#"{"object":"chat.completion","choices":[]}"#;

impl Http2Provider {
    /// Applies `acts` one after the other, and after the last one responds to every stream.
    pub async fn start(acts: &[ScriptedStreamResponse]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            closed: Arc::default(),
            streams: Arc::new(Mutex::new(acts.iter().rev().copied().collect())),
            seen: Arc::default(),
        };
        let (streams, seen) = (provider.streams.clone(), provider.seen.clone());
        let (connections, closed) = (provider.connections.clone(), provider.closed.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (streams, seen, closed) = (streams.clone(), seen.clone(), closed.clone());
                tokio::spawn(async move {
                    serve(stream, streams, seen).await;
                    closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        provider
    }

    /// The number of requests received.
    pub fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

async fn serve(
    stream: tokio::net::TcpStream,
    acts: Arc<Mutex<Vec<ScriptedStreamResponse>>>,
    seen: Arc<AtomicUsize>,
) {
    let mut connection = server::handshake(stream).await.unwrap();
    while let Some(Ok((request, answer))) = connection.accept().await {
        seen.fetch_add(1, Ordering::SeqCst);
        let act = acts
            .lock()
            .unwrap()
            .pop()
            .unwrap_or(ScriptedStreamResponse::Answer);
        match act {
            ScriptedStreamResponse::Close => return,
            ScriptedStreamResponse::RespondThenGoaway => connection.graceful_shutdown(),
            ScriptedStreamResponse::Answer
            | ScriptedStreamResponse::HintAndAnswer
            | ScriptedStreamResponse::Reset(_) => {}
        }
        tokio::spawn(answer_stream(request, answer, act));
    }
}

async fn answer_stream(
    request: Request<RecvStream>,
    mut answer: SendResponse<Bytes>,
    act: ScriptedStreamResponse,
) {
    let mut body = request.into_body();
    while let Some(Ok(piece)) = body.data().await {
        body.flow_control().release_capacity(piece.len()).unwrap();
    }
    match act {
        ScriptedStreamResponse::Reset(reason) => return answer.send_reset(reason),
        ScriptedStreamResponse::HintAndAnswer => {
            let mut hint = Response::new(());
            *hint.status_mut() = StatusCode::EARLY_HINTS;
            answer.send_informational(hint).unwrap();
        }
        ScriptedStreamResponse::Answer
        | ScriptedStreamResponse::RespondThenGoaway
        | ScriptedStreamResponse::Close => {}
    }
    let head = Response::builder()
        .header("content-type", "application/json")
        .body(())
        .unwrap();
    let mut stream = answer.send_response(head, false).unwrap();
    stream.send_data(Bytes::from(BODY), true).unwrap();
}
