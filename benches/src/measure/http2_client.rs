//! An HTTP/2 client that checks every response.

use super::tls;
use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderName, HeaderValue, Method, Request, Version};
use std::net::SocketAddr;

/// A connection; a clone sends on the same connection.
#[derive(Clone)]
pub struct Http2Connection {
    sender: SendRequest<Bytes>,
}

impl Http2Connection {
    /// A connection with TLS. Its task runs in the [`LocalSet`](tokio::task::LocalSet) of the caller.
    pub async fn open(address: SocketAddr) -> Self {
        let handshake = h2::client::handshake(tls::connect(address).await);
        let (sender, connection) = handshake.await.expect("the target speaks HTTP/2");
        tokio::task::spawn_local(async move {
            // The target ends it when the run is over.
            let _ = connection.await;
        });
        Self { sender }
    }

    /// Sends a request, given as HTTP/1.1 writes it, and reads its response, which must be a 200.
    pub async fn exchange(&mut self, request: &[u8]) {
        let (head, body) = parsed(request);
        let ready = self.sender.clone().ready().await;
        self.sender = ready.expect("the connection is open");
        let sent = self.sender.send_request(head, false);
        let (response, mut stream) = sent.expect("the request is valid");
        stream.send_data(body, true).expect("the stream is open");
        let response = response.await.expect("the target answers");
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        while let Some(piece) = body.data().await {
            let length = piece.expect("the response is whole").len();
            let released = body.flow_control().release_capacity(length);
            released.expect("the window is open");
        }
    }
}

/// The head without the headers that HTTP/2 does not have, and the body.
fn parsed(request: &[u8]) -> (Request<()>, Bytes) {
    let end = request.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.expect("a head ends with an empty line");
    let head = std::str::from_utf8(&request[..end]).expect("heads are text");
    let mut lines = head.split("\r\n");
    let path = lines.next().and_then(|line| line.split(' ').nth(1));
    let uri = format!("https://localhost{}", path.expect("a path"));
    let mut parsed = Request::new(());
    *parsed.method_mut() = Method::POST;
    *parsed.version_mut() = Version::HTTP_2;
    *parsed.uri_mut() = uri.parse().expect("a URI");
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name != "host" {
            let name = HeaderName::try_from(name).expect("a header name");
            let value = HeaderValue::try_from(value).expect("a header value");
            parsed.headers_mut().insert(name, value);
        }
    }
    (parsed, Bytes::copy_from_slice(&request[end + 4..]))
}
