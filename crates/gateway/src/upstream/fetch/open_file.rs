//! Opens a file for a caller, who gets it piece by piece: nothing is read ahead of what the caller takes.

use super::{HttpFileFetcher, broken};
use crate::fault_from;
use crate::upstream::egress_url::{EgressUrl, IDLE, unfetched};
use crate::upstream::session::UpstreamSession;
use headgate_core::catalog::channel::Origin;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::filter::fetch::{FILE_REQUEST_HEADERS, FetchError, FileCredential, OpenedFile};
use headgate_core::filter::streamed_reply::{ReplyBodyReader, ReplyPieceFuture};
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use std::time::Duration;
use tokio::time::timeout;

/// How long a server may take until it responds, redirects included.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// The headers of a server's response that say what the content is.
const CONTENT_HEADERS: [HeaderName; 5] = [
    header::CONTENT_TYPE,
    header::CONTENT_RANGE,
    header::ACCEPT_RANGES,
    header::ETAG,
    header::LAST_MODIFIED,
];

/// The caller's headers, and the channel's credential for its own host.
type SentHeaders<'a> = (&'a HeaderMap, Option<FileCredential<'a>>);

/// The rest of a file, on its connection.
struct FileBodyReader(UpstreamSession);

impl ReplyBodyReader for FileBodyReader {
    fn next_piece(&mut self) -> ReplyPieceFuture<'_> {
        Box::pin(async {
            let read = timeout(IDLE, self.0.read_body()).await;
            let silent = || {
                Fault::new(
                    FaultKind::UpstreamTimeout,
                    "the server of the file stopped sending; request the file again",
                )
            };
            let piece = read.map_err(|_| silent())?;
            piece.map_err(fault_from::upstream)
        })
    }
}

/// # Errors
/// The policy permits no address of the host, or the server does not have the file.
pub(super) async fn open(
    fetcher: &HttpFileFetcher,
    url: &str,
    egress: &EgressPolicy,
    sent: SentHeaders<'_>,
) -> Result<OpenedFile, FetchError> {
    let opened = timeout(HEAD_WITHIN, follow(fetcher, url, egress, sent)).await;
    opened.unwrap_or_else(|_| Err(unfetched(format!("no response within {HEAD_WITHIN:?}"))))
}

async fn follow(
    fetcher: &HttpFileFetcher,
    url: &str,
    egress: &EgressPolicy,
    (headers, credential): SentHeaders<'_>,
) -> Result<OpenedFile, FetchError> {
    let mut target = EgressUrl::parse(url)?;
    // A redirect leads to a URL that is signed, and that may refuse a credential beside its signature.
    let mut credential = credential.filter(|credential| is_at(&target, credential.origin));
    for _ in 0..=headgate_core::filter::fetch::REDIRECTS_MAX {
        let session = request(fetcher, &target, egress, (headers, credential.take())).await?;
        let (status, received) = session.head().ok_or_else(|| unfetched("no response"))?;
        if status.is_redirection() {
            let location = received.get(header::LOCATION);
            let location = location.and_then(|value| value.to_str().ok());
            let location = location.ok_or_else(|| unfetched("redirect without a `location`"))?;
            target = target.redirected(location)?;
            continue;
        }
        let is_file = matches!(
            status,
            StatusCode::OK | StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE
        );
        if !is_file {
            return Err(unfetched(format!("status {}", status.as_u16())));
        }
        let length = received.get(header::CONTENT_LENGTH);
        let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
        return Ok(OpenedFile {
            status,
            headers: content_headers(received),
            length,
            body: Box::new(FileBodyReader(session)),
        });
    }
    Err(unfetched("too many redirects"))
}

/// Sends a request on a connection of its own.
async fn request(
    fetcher: &HttpFileFetcher,
    target: &EgressUrl,
    egress: &EgressPolicy,
    (headers, credential): SentHeaders<'_>,
) -> Result<UpstreamSession, FetchError> {
    let mut session = fetcher.connect(target, egress).await?;
    let mut request = target.request(Method::GET)?;
    copy(headers, &FILE_REQUEST_HEADERS, &mut request.headers);
    if let Some(FileCredential { credential, .. }) = credential {
        request.sign(credential)?;
    }
    let head = target.head(&request);
    let sent = session.write_request(&head, None, IDLE).await;
    sent.map_err(|error| broken(fault_from::upstream(error)))?;
    let read = session.read_head(&mut false).await;
    read.map_err(|error| broken(fault_from::upstream(error)))?;
    Ok(session)
}

/// Whether a URL lies at the host of a channel.
fn is_at(target: &EgressUrl, origin: &Origin) -> bool {
    target.is_https == origin.tls.is_some()
        && target.port == origin.port
        && target.host.eq_ignore_ascii_case(&origin.host)
}

fn content_headers(received: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::new();
    copy(received, &CONTENT_HEADERS, &mut headers);
    headers
}

fn copy(from: &HeaderMap, names: &[HeaderName], to: &mut HeaderMap) {
    for name in names {
        if let Some(value) = from.get(name) {
            to.insert(name.clone(), value.clone());
        }
    }
}
