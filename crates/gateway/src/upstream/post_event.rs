//! Sends events to URLs of callers, at addresses that the egress policy allows. Redirects are not followed.

use super::bounded_body::BodyReadResult;
use super::egress_url::{EgressUrl, IDLE};
use super::fetch::{HttpFileFetcher, broken};
use super::session::RequestWriteOutcome;
use crate::fault_from;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::filter::fetch::FetchError;
use headgate_core::outgoing::delivery_client::{
    DeliveryClient, EventPost, EventResponse, SendEventError, SendEventFuture,
};
use headgate_protocol::json::edit::BodySegments;
use headgate_protocol::retry_after;
use http::{Method, header};
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

/// How long a receiver may take to respond.
const WITHIN: Duration = Duration::from_secs(15);
/// How long the body of its response is read.
const BODY_WITHIN: Duration = Duration::from_secs(1);
/// Maximum number of bytes of a response that are read; its content does not matter.
const RESPONSE_BYTES_MAX: usize = 64 << 10;

impl DeliveryClient for HttpFileFetcher {
    fn post<'a>(&'a self, event: EventPost<'a>, egress: &'a EgressPolicy) -> SendEventFuture<'a> {
        Box::pin(async move {
            match timeout(WITHIN, post(self, event, egress)).await {
                Ok(posted) => posted.map_err(|error| SendEventError(error.to_string())),
                Err(_) => Err(SendEventError(format!("no response within {WITHIN:?}"))),
            }
        })
    }

    fn receiver_authority(&self, url: &str) -> Option<String> {
        let target = EgressUrl::parse(url).ok()?;
        // All spellings of a name are one receiver.
        let host = target.host.trim_end_matches('.').to_ascii_lowercase();
        Some(format!("{host}:{}", target.port))
    }
}

async fn post(
    client: &HttpFileFetcher,
    event: EventPost<'_>,
    egress: &EgressPolicy,
) -> Result<EventResponse, FetchError> {
    let target = EgressUrl::parse(event.url)?;
    let mut session = client.connect(&target, egress).await?;
    let mut request = target.request(Method::POST)?;
    let headers = &mut request.headers;
    for (name, value) in &event.headers {
        headers.insert(name.clone(), value.clone());
    }
    headers.insert(header::CONTENT_LENGTH, event.body.len().into());
    let body = BodySegments::from(event.body);
    let head = target.head(&request);
    let written = session.write_request(&head, Some(&body), IDLE).await;
    // A receiver may respond before it has read everything.
    let _: RequestWriteOutcome = written.map_err(|error| broken(fault_from::upstream(error)))?;
    let read = session.read_head(&mut false).await;
    read.map_err(|error| broken(fault_from::upstream(error)))?;
    let (status, headers) = session.head().expect("the response's head was read");
    let response = EventResponse {
        status,
        retry_after: retry_after::from_headers(headers, SystemTime::now()),
    };
    // A receiver whose response cannot be written may take the event for undelivered; how its body ends does not matter.
    let body = BodyReadResult::read(&mut session, 0, RESPONSE_BYTES_MAX);
    let _ = timeout(BODY_WITHIN, body).await;
    Ok(response)
}
