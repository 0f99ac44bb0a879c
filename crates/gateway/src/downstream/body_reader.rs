//! Reads request bodies: those of HTTP/1.1 with a declared length straight from the connection, all others through Pingora.
//!
//! Pingora reads a body into a buffer of 64 KiB, which stays with the connection, and copies each piece out of it.

use crate::listen::http1_inspection::SharedHttp1Inspector;
use bytes::{Bytes, BytesMut};
use http::{Method, header};
use pingora_core::protocols::http::ServerSession;
use pingora_core::protocols::http::v2::server::HttpSession as Http2Session;
use pingora_error::{Error, ErrorType};
use pingora_http::RequestHeader;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Maximum number of bytes of a piece.
const PIECE_BYTES_MAX: usize = 64 << 10;

thread_local! {
    /// What Pingora determines the length of a body from that is read without it. One for each worker, since making one
    /// takes as long as a small body.
    static HEAD_WITHOUT_BODY: RefCell<RequestHeader> = RefCell::new(
        RequestHeader::build_no_case(Method::POST, b"/", None).expect("the target is a path")
    );
}

/// Takes a body of declared length over from Pingora, which from now on finds none. Returns whether the request has a body.
pub fn take_over_body(
    session: &mut ServerSession,
    inspection: Option<&SharedHttp1Inspector>,
) -> bool {
    if inspection.is_none_or(|own| own.body_bytes_left().is_none()) {
        if let ServerSession::H2(session) = session
            && has_empty_length(session)
        {
            // Pingora would read nothing. The end of the stream shows whether the length is true (RFC 9113, section 8.1.1).
            session
                .req_header_mut()
                .remove_header(&header::CONTENT_LENGTH);
        }
        return !session.is_body_empty();
    }
    // Pingora determines the length once, when it is first asked about the body.
    HEAD_WITHOUT_BODY.with_borrow_mut(|head| {
        std::mem::swap(session.req_header_mut(), head);
        session.is_body_empty();
        std::mem::swap(session.req_header_mut(), head);
    });
    true
}

fn has_empty_length(session: &Http2Session) -> bool {
    let length = session.req_header().headers.get(header::CONTENT_LENGTH);
    length.is_some_and(|length| length.as_bytes().iter().all(|digit| *digit == b'0'))
}

/// The next piece of the body, as soon as it arrives; `None` after the last one.
///
/// # Errors
/// The connection failed, or the body is malformed.
pub async fn read_piece(
    session: &mut ServerSession,
    inspection: Option<&SharedHttp1Inspector>,
) -> Result<Option<Bytes>, Box<Error>> {
    let declared = inspection.and_then(|own| Some((own, own.body_bytes_left()?)));
    let Some((inspection, left)) = declared else {
        return session.read_request_body().await;
    };
    let room = usize::try_from(left).map_or(PIECE_BYTES_MAX, |left| left.min(PIECE_BYTES_MAX));
    let buffer = BytesMut::with_capacity(room);
    let piece = read_into(session, inspection, buffer, room).await?;
    // A slow client's piece must not occupy the room of a large one.
    Ok(Some(match piece.len() < room / 2 {
        true => Bytes::copy_from_slice(&piece),
        false => piece.freeze(),
    }))
}

/// Appends the next bytes of a body of declared length to `buffer`, up to `bytes_max`, as soon as any arrive. If the future
/// is dropped before, the rest of the body can only be discarded.
///
/// # Errors
/// The connection failed.
pub async fn read_into(
    session: &mut ServerSession,
    inspection: &SharedHttp1Inspector,
    buffer: BytesMut,
    bytes_max: usize,
) -> Result<BytesMut, Box<Error>> {
    let ServerSession::H1(session) = session else {
        unreachable!("only connections of HTTP/1.1 have an inspection");
    };
    inspection.receive_into(buffer, bytes_max);
    let _guard = ReceiveBufferReleaseGuard(inspection);
    // The session's read lets the connection receive, and ends only with the connection.
    let mut reading = pin!(session.idle());
    poll_fn(|context| match reading.as_mut().poll(context) {
        Poll::Pending => match inspection.take_received() {
            Some(buffer) => Poll::Ready(Ok(buffer)),
            None => Poll::Pending,
        },
        Poll::Ready(read) => {
            let closed = || Error::explain(ErrorType::ConnectionClosed, "before the body's end");
            Poll::Ready(read.and_then(|_| Err(closed())))
        }
    })
    .await
}

/// Frees the buffer of a receive that fails or is cancelled.
struct ReceiveBufferReleaseGuard<'i>(&'i SharedHttp1Inspector);

impl Drop for ReceiveBufferReleaseGuard<'_> {
    fn drop(&mut self) {
        self.0.cancel_receive();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intercepted_stream::InterceptedConnection;
    use crate::listen::http1_inspection::BodyFraming;
    use crate::listen::http1_reader::Http1Reader;
    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

    const HEAD: &[u8] = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n";

    /// A session whose head was read, and which has a body of 10 bytes.
    async fn session() -> (DuplexStream, ServerSession, SharedHttp1Inspector) {
        let (mut client, server) = duplex(1 << 20);
        let stream = InterceptedConnection::boxed(Box::new(server), Http1Reader::default());
        let mut session = ServerSession::new_http1(stream);
        let inspection = Http1Reader::inspection(&session).unwrap();
        inspection.begin_message(1000);
        client.write_all(HEAD).await.unwrap();
        assert!(session.read_request().await.unwrap());
        inspection.begin_body(BodyFraming::Length(10));
        assert!(take_over_body(&mut session, Some(&inspection)));
        (client, session, inspection)
    }

    #[tokio::test]
    async fn a_piece_comes_as_soon_as_it_arrives_and_nothing_after_the_last_one() {
        let (mut client, mut session, inspection) = session().await;
        for piece in ["0123", "4", "56789"] {
            client.write_all(piece.as_bytes()).await.unwrap();
            let read = read_piece(&mut session, Some(&inspection)).await.unwrap();
            assert_eq!(read.unwrap(), piece);
        }
        client.write_all(HEAD).await.unwrap();
        let read = read_piece(&mut session, Some(&inspection)).await.unwrap();
        assert_eq!(read, None);
        assert_eq!(session.req_header().headers[header::CONTENT_LENGTH], "10");
        inspection.end_body().unwrap();
        // The connection carries the next request.
        session.set_keepalive(Some(0));
        assert!(session.finish().await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_client_that_leaves_before_the_end_is_an_error() {
        let (mut client, mut session, inspection) = session().await;
        client.write_all(b"01234").await.unwrap();
        let buffer = BytesMut::from("before ");
        let read = read_into(&mut session, &inspection, buffer, 10).await;
        let buffer = read.unwrap();
        assert_eq!(buffer, "before 01234");
        drop(client);
        let read = read_into(&mut session, &inspection, buffer, 5).await;
        assert_eq!(*read.unwrap_err().etype(), ErrorType::ConnectionClosed);
        assert_eq!(inspection.body_bytes_left(), Some(5));
        assert_eq!(inspection.take_received(), None);
    }
}
