//! Tests of streams of events: their number is bounded, and clients that open too many hurt no others.

use crate::harness::{Connection, OpenResponse, Request, eventually};
use bytes::Bytes;
use headgate_admin::event_streams::{EVENT_STREAMS_MAX, EventStreamQuota};
use headgate_core::serve::{AppClientConnection, AppResponse, AppResponseBodyStream, HttpApp};
use headgate_gateway::listen::{HttpAppServerLimits, ListenSocket, ServerProcess};
use http::StatusCode;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// An application with a stream of events and a page.
struct EventApp(Arc<EventStreamQuota>);

/// An event every 10 ms, with its number.
struct Ticks(u64);

impl HttpApp for EventApp {
    async fn respond(&self, request: http::Request<Bytes>, _: AppClientConnection) -> AppResponse {
        match request.uri().path() {
            "/events" => self.0.respond(Ticks(0)),
            _ => AppResponse::full(StatusCode::OK, "text/plain", "page\n"),
        }
    }
}

impl AppResponseBodyStream for Ticks {
    fn next_piece(&mut self) -> Pin<Box<dyn Future<Output = Option<Bytes>> + Send + '_>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.0 += 1;
            Some(format!("data: {}\n\n", self.0).into())
        })
    }
}

/// Serves the application with the limits of the admin pages, until the tests end.
fn serve() -> (SocketAddr, Arc<EventStreamQuota>) {
    let streams = Arc::new(EventStreamQuota::default());
    let socket = ListenSocket::bind("127.0.0.1:0").unwrap();
    let (address, app) = (socket.address, EventApp(streams.clone()));
    thread::spawn(move || {
        let mut server = ServerProcess::new(1);
        let added = server.add_app("test", app, socket, None, HttpAppServerLimits::ADMIN);
        added.unwrap();
        server.run()
    });
    (address, streams)
}

/// The response to a request for events; `None` if the connection is closed.
async fn open(address: SocketAddr) -> Option<OpenResponse> {
    let stream = tokio::net::TcpStream::connect(address).await.ok()?;
    let mut connection = Connection::over(stream);
    let request = Request::get("/events");
    connection.send(&request.bytes()).await.ok()?;
    connection.reply().await
}

#[tokio::test]
async fn a_thousand_clients_share_the_streams_that_there_are_and_pages_are_served() {
    let (address, streams) = serve();
    let mut good = Vec::new();
    let mut refused = 0;
    for _ in 0..1_000 {
        match open(address).await {
            Some(mut response) if response.status == 200 => {
                assert_eq!(
                    response.headers.get("content-type"),
                    Some("text/event-stream")
                );
                response.until("data: 1\n\n").await;
                good.push(response);
            }
            Some(response) => {
                assert_eq!(response.status, 503);
                assert_eq!(response.headers.get("connection"), Some("close"));
                refused += 1;
            }
            None => refused += 1,
        }
    }
    assert_eq!(
        (good.len(), refused),
        (EVENT_STREAMS_MAX, 1_000 - EVENT_STREAMS_MAX)
    );
    assert_eq!(streams.open(), EVENT_STREAMS_MAX);
    let page = Connection::to(address).await.ask(&Request::get("/")).await;
    assert_eq!((page.status, page.text()), (200, "page\n".into()));
    for response in &mut good {
        response.until("data: 2\n\n").await;
    }
    drop(good);
    eventually("the end of the streams", async || {
        (streams.open() == 0).then_some(())
    })
    .await;
    assert_eq!(
        open(address).await.map(|response| response.status),
        Some(200)
    );
}
