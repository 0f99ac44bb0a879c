//! What the HTTP/2 library makes of a connection that the inspector has passed.

use bytes::Bytes;
use h2::Reason;
use h2::server::Builder;
use headgate_http2_inspection::MALFORMED;
use http::request::Parts;
use http::{HeaderValue, Method};
use tokio::io::{AsyncWriteExt, duplex};
use tokio::runtime::{self, Runtime};

/// More than the library sends in response to an input.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// The heads that the library accepts, and the error with which it ends the connection.
#[derive(Debug, Default)]
struct LibraryReading {
    heads: Vec<Parts>,
    error: Option<Reason>,
}

thread_local! {
    static RUNTIME: Runtime = runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime without drivers starts");
}

/// The inspector finds each error of compression that the library finds, and no head that is malformed reaches the gateway
/// without a mark. The inspector may find an error before the end of a block, and the library ends the connection then.
pub(super) fn check_library(passed: &[u8], is_over: bool, list_bytes_max: usize) {
    let reading = RUNTIME.with(|runtime| runtime.block_on(read(passed, list_bytes_max)));
    assert!(
        is_over || reading.error != Some(Reason::COMPRESSION_ERROR),
        "only the library finds an error of compression"
    );
    for head in &reading.heads {
        assert!(
            !is_malformed(head) || head.headers.contains_key(MALFORMED),
            "a malformed head has no mark: {head:?}"
        );
    }
}

async fn read(passed: &[u8], list_bytes_max: usize) -> LibraryReading {
    let mut reading = LibraryReading::default();
    let (mut client, server) = duplex(OUTPUT_BYTES_MAX);
    let is_written = client.write_all(passed).await.is_ok() && client.shutdown().await.is_ok();
    assert!(is_written, "the buffer takes the connection");
    let mut builder = Builder::new();
    builder.max_header_list_size(list_bytes_max as u32);
    let mut connection = match builder.handshake::<_, Bytes>(server).await {
        Ok(connection) => connection,
        Err(error) => {
            reading.error = own_reason(&error);
            return reading;
        }
    };
    // Streams that are dropped are reset.
    let mut streams = Vec::new();
    while let Some(accepted) = connection.accept().await {
        match accepted {
            Ok((request, response)) => {
                let (head, body) = request.into_parts();
                reading.heads.push(head);
                streams.push((body, response));
            }
            Err(error) => {
                reading.error = own_reason(&error);
                break;
            }
        }
    }
    reading
}

/// The reason for which the library ends the connection. One that the client ends has that of its GOAWAY.
fn own_reason(error: &h2::Error) -> Option<Reason> {
    error.reason().filter(|_| !error.is_remote())
}

/// Whether the gateway must not forward a head, as far as the library shows it.
fn is_malformed(head: &Parts) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let mut values = head.headers.values().map(HeaderValue::as_bytes);
    // The target of a CONNECT is a host.
    let has_path = head.method == Method::CONNECT || head.uri.path().starts_with('/');
    !has_path
        || !matches!(head.uri.scheme_str(), None | Some("http" | "https"))
        || values.any(|value| is_blank(value.first()) || is_blank(value.last()))
}
