//! Fetches the images that a response refers to by URL, and inserts them as base64.

use bytes::Bytes;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::filter::fetch::{FetchLimits, FetchedFile, REDIRECTS_MAX, ResponseFileFetcher};
use headgate_protocol::images::{ImageToConvert, detect_type, encode_onto};
use headgate_protocol::json::edit::JsonEdits;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// Maximum number of images per response; no provider returns more.
const IMAGES_MAX: usize = 10;
/// Maximum size of an image, in bytes.
const IMAGE_BYTES_MAX: usize = 50 << 20;
/// Maximum size of all images of a response together, in bytes.
const ALL_BYTES_MAX: usize = 96 << 20;
/// How long a caller waits for images after the response.
const WITHIN: Duration = Duration::from_secs(30);

/// Inserts the images into a response whose caller requested base64. Returns whether all of them were inserted.
pub(super) async fn inline(
    mismatched: &[ImageToConvert<'_>],
    fetch: Option<&dyn ResponseFileFetcher>,
    egress: &EgressPolicy,
    edits: &mut JsonEdits,
    request_id: &str,
) -> bool {
    let Some(fetch) = fetch.filter(|_| mismatched.len() <= IMAGES_MAX) else {
        return false;
    };
    let bounds = FetchLimits {
        bytes: IMAGE_BYTES_MAX.min(ALL_BYTES_MAX / mismatched.len().max(1)),
        within: WITHIN,
        redirects: REDIRECTS_MAX,
    };
    let fetches = mismatched.iter().map(|mismatched| async move {
        let url = mismatched.url.as_deref().unwrap_or_default();
        let fetched = fetch.fetch(url, egress, bounds).await;
        let image = fetched.map_err(|unfetched| unfetched.to_string())?;
        encode_image(&image)
    });
    let mut all_are_in = true;
    for (mismatched, base64) in mismatched.iter().zip(all(fetches).await) {
        match base64 {
            Ok(base64) => mismatched.inline(edits, base64),
            Err(reason) => {
                all_are_in = false;
                tracing::warn!(id = request_id, reason, "cannot fetch an edited image");
            }
        }
    }
    all_are_in
}

/// The image in base64, as a JSON string.
fn encode_image(fetched: &FetchedFile) -> Result<Bytes, String> {
    let declared = fetched.content_type.as_deref();
    let found = detect_type(&fetched.content, declared);
    if !found.starts_with("image/") {
        return Err(format!("expected an image, received {found}"));
    }
    let mut json = vec![b'"'];
    encode_onto(&mut json, &fetched.content);
    json.push(b'"');
    Ok(json.into())
}

/// Runs all futures of `work` concurrently; the results are in the order of `work`.
async fn all<F: Future>(work: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<Pin<Box<F>>> = work.map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (work, done) in running.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(output) = work.as_mut().poll(context)
            {
                *done = Some(output);
            }
        }
        match done.iter().all(Option::is_some) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    done.into_iter().flatten().collect()
}
