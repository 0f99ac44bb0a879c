//! The file of a video, passed on from the provider's URL to callers of OpenAI's format.

use super::poll::{QueryableTask, reply};
use super::request::unknown;
use super::{MapTaskFilter, no_family};
use headgate_core::filter::FilterAction;
use headgate_core::filter::fetch::{FetchError, FileCredential};
use headgate_core::filter::streamed_reply::StreamedReply;
use headgate_core::filter::view::RequestView;
use headgate_core::task::openai_video::TaskFailure;
use headgate_core::task::state::TaskState;
use headgate_core::task::status::TaskStatus;
use headgate_protocol::Protocol;
use headgate_protocol::error_body::CustomError;
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// What of a video is offered; SDKs also ask for `thumbnail` and `spritesheet`.
const VIDEO: &str = "video";
/// The code of the error about a task that has not ended.
const NOT_READY: &str = "video_not_ready";

impl MapTaskFilter {
    /// Replies with the file of a task that has succeeded, from where its provider has it.
    pub(super) async fn content(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        let (Some(subrequests), Some(fetch)) = (request.subrequests.clone(), request.fetch.clone())
        else {
            return Ok(FilterAction::Continue);
        };
        check_variant(request.query.as_deref())?;
        let polled = self.polled_task(request)?;
        if self.is_deleted(&polled).await {
            return Err(unknown());
        }
        let subrequest = polled.status_request(request, &subrequests)?;
        let status_query = polled.status_query.clone();
        let report = match self.polls.status(status_query, subrequest).await {
            Ok(known) => known.report,
            Err(error) => return self.error_reply(request, &polled, &error),
        };
        let (family, task) = (polled.family(), polled.task());
        let status = family
            .status(&report.response, task, report.reported_ms)
            .map_err(|unreadable| no_family().source(unreadable))?;
        let url = match (&status.state, &status.video_url) {
            (TaskState::Succeeded, Some(url)) => url,
            _ => return Ok(no_file(request, &polled, &status)),
        };
        let credential = polled.file_credential();
        let without_range = HeaderMap::new();
        let headers = match request.method {
            // RFC 9110, section 14.2: only GET has ranges.
            Method::HEAD => &without_range,
            _ => &request.headers,
        };
        let opened = fetch.open(url, &self.egress, headers, credential).await;
        let opened = opened.map_err(|error| unavailable(request, &polled, &error))?;
        let mut headers = opened.headers;
        for (name, value) in [
            (header::CACHE_CONTROL, "private"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            // Nothing that a browser could run is run.
            (
                header::CONTENT_SECURITY_POLICY,
                "default-src 'none'; sandbox",
            ),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let (length, body) = match opened.status {
            // What the host writes about a range is not the caller's.
            StatusCode::RANGE_NOT_SATISFIABLE => {
                headers.remove(header::CONTENT_TYPE);
                (Some(0), None)
            }
            // Signed URLs are for GET: of a HEAD the host gets one, and nothing is read of its file.
            _ if request.method == Method::HEAD => (opened.length, None),
            _ => (opened.length, Some(opened.body)),
        };
        Ok(StreamedReply {
            status: opened.status,
            headers,
            length,
            body,
        }
        .into())
    }
}

impl QueryableTask {
    /// The credential for the file, if its provider sends it to no one else.
    fn file_credential(&self) -> Option<FileCredential<'_>> {
        let channel = &self.candidate.channel;
        let key = self.candidate.key.unwrap_or(0);
        let credential = channel.credentials.get(key)?;
        let is_private = self.family().has_private_results();
        is_private.then_some(FileCredential {
            origin: &channel.origin,
            credential,
        })
    }
}

/// # Errors
/// The query asks for something other than the video.
fn check_variant(query: Option<&str>) -> Result<(), Fault> {
    let pairs = query.unwrap_or_default().split('&');
    let mut variants = pairs.filter_map(|pair| pair.strip_prefix("variant="));
    match variants.all(|variant| variant == VIDEO) {
        true => Ok(()),
        false => Err(Fault::new(
            FaultKind::Invalid,
            "`variant` must be `video`, or be left out: providers make no thumbnails and no spritesheets",
        )
        .param("variant")),
    }
}

/// The error about a task that has no video, or none yet.
fn no_file(request: &RequestView, polled: &QueryableTask, status: &TaskStatus) -> FilterAction {
    let failure = TaskFailure::from_status(status, &polled.id, polled.task());
    let failure = failure.unwrap_or_else(|| TaskFailure {
        code: NOT_READY.to_owned(),
        message: format!(
            "the task is {}; download the video when it is completed",
            status.state.name()
        ),
    });
    let error = CustomError {
        message: &failure.message,
        class: Some("invalid_request_error"),
        code: Some(&failure.code),
        param: None,
    };
    let status = StatusCode::BAD_REQUEST;
    let errors = &Protocol::descriptor_for(request.protocol).errors;
    let body = errors.render_custom(status.as_u16(), &error, &request.id);
    reply(status, HeaderMap::new(), body)
}

/// The fault of a file that cannot be opened. Why is for the operator: the URL is the provider's.
fn unavailable(request: &RequestView, polled: &QueryableTask, error: &FetchError) -> Fault {
    let channel = &polled.task().channel;
    tracing::warn!(id = &*request.id, channel, %error, "the file of a video cannot be opened");
    Fault::new(
        FaultKind::UnreadableResponse,
        "the video cannot be downloaded from its provider; try again, URLs of providers also expire",
    )
    .detail(error.to_string())
}
