//! The file of a video, passed on from the provider's URL to callers of OpenAI's format.

use super::examined_file::ExaminedFile;
use super::poll::{QueryableTask, reply};
use super::request::unknown;
use super::{MapTaskFilter, no_family};
use crate::polls::StatusQueryError;
use bytes::Bytes;
use headgate_core::filter::FilterAction;
use headgate_core::filter::fetch::{FetchError, FileCredential};
use headgate_core::filter::range::RequestedRange;
use headgate_core::filter::streamed_reply::{ReplyBodyReader, ReplyPieceFuture, StreamedReply};
use headgate_core::filter::view::RequestView;
use headgate_core::state::calendar::unix_ms;
use headgate_core::subrequest::{InlineFile, Subrequest, SubrequestResponse};
use headgate_core::task::family::without_urls;
use headgate_core::task::openai_video::TaskFailure;
use headgate_core::task::state::TaskState;
use headgate_core::task::status::TaskStatus;
use headgate_protocol::Protocol;
use headgate_protocol::error_body::CustomError;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::{JsonDocument, JsonLimits};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// What of a video is offered; SDKs also ask for `thumbnail` and `spritesheet`.
const VIDEO: &str = "video";
/// Bytes of an inline file that are sent at a time.
const PIECE_BYTES: usize = 64 << 10;
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
        if let Some(at) = polled.family().inline_video() {
            let query = Subrequest {
                inline_file: Some(InlineFile {
                    at: at.clone(),
                    is_kept: true,
                }),
                ..polled.query_subrequest(request)?
            };
            let answered = subrequests.send(query).await?;
            return self.inline_content(request, &polled, answered);
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
        let file: Box<dyn ReplyBodyReader> = match opened.status {
            StatusCode::OK => Box::new(ExaminedFile::open(opened.body).await?),
            _ => opened.body,
        };
        let mut headers = opened.headers;
        add_safety_headers(&mut headers);
        let (length, body) = match opened.status {
            // What the host writes about a range is not the caller's.
            StatusCode::RANGE_NOT_SATISFIABLE => {
                headers.remove(header::CONTENT_TYPE);
                (Some(0), None)
            }
            // Signed URLs are for GET: of a HEAD the host gets one, and only the start of its file is read.
            _ if request.method == Method::HEAD => (opened.length, None),
            _ => (opened.length, Some(file)),
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

impl MapTaskFilter {
    /// Replies with the file that the response to a query has, or the requested range of it.
    fn inline_content(
        &self,
        request: &RequestView,
        polled: &QueryableTask,
        answered: SubrequestResponse,
    ) -> Result<FilterAction, Fault> {
        let unreadable = || {
            Fault::new(
                FaultKind::UnreadableResponse,
                "the provider's response is no status of this task; try again",
            )
        };
        if !answered.status.is_success() {
            let refused = StatusQueryError::Refused(answered);
            return self.error_reply(request, polled, &refused);
        }
        let document = JsonDocument::parse(answered.body, &JsonLimits::default());
        let document = document.map_err(|_| unreadable())?;
        let status = polled.family().status(&document, polled.task(), unix_ms());
        let status = status.map_err(|error| unreadable().source(error))?;
        let file = match (status.state, answered.inline_file) {
            (TaskState::Succeeded, Some(file)) => file,
            _ => return Ok(no_file(request, polled, &status)),
        };
        let size = file.len() as u64;
        let mut headers = HeaderMap::new();
        // RFC 9110, section 14.2: only GET has ranges.
        let range = request.header("range");
        let range = range.filter(|_| request.method == Method::GET);
        let range = RequestedRange::parse(range, size);
        let (status, start, end) = match range {
            RequestedRange::Whole => (StatusCode::OK, 0, size),
            RequestedRange::Part(start, end) => (StatusCode::PARTIAL_CONTENT, start, end),
            RequestedRange::Unsatisfiable => (StatusCode::RANGE_NOT_SATISFIABLE, 0, 0),
        };
        if let Some(range) = range.content_range(size) {
            headers.insert(header::CONTENT_RANGE, range);
        }
        // The kind of video is not read: all that make videos in base64 make MP4.
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("video/mp4"));
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        add_safety_headers(&mut headers);
        let pieces = FilePieces(file.slice(start as usize..end as usize));
        let body: Option<Box<dyn ReplyBodyReader>> = match request.method {
            Method::HEAD => None,
            _ => Some(Box::new(pieces)),
        };
        Ok(StreamedReply {
            status,
            headers,
            length: Some(end - start),
            body,
        }
        .into())
    }
}

/// A file in pieces, so that it is read from the disk as the caller takes it.
struct FilePieces(Bytes);

impl ReplyBodyReader for FilePieces {
    fn next_piece(&mut self) -> ReplyPieceFuture<'_> {
        let piece = self.0.split_to(self.0.len().min(PIECE_BYTES));
        Box::pin(async { Ok((!piece.is_empty()).then_some(piece)) })
    }
}

/// Headers by which no browser keeps the file for others or runs anything of it.
fn add_safety_headers(headers: &mut HeaderMap) {
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
    let replaces_urls = polled.family().native_api().replaces_urls();
    let message = match replaces_urls {
        true => without_urls(&failure.message),
        false => failure.message,
    };
    let error = CustomError {
        message: &message,
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
