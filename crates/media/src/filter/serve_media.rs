//! `serve_media`: serves files of the media store by the tokens in their URLs.

use crate::token::MediaToken;
use crate::{MediaStore, MediaStoreError, ObjectReader, runs_in_browsers};
use bytes::Bytes;
use headgate_core::filter::descriptor::{
    ChainSide, FilterChainRules, FilterDescriptor, FilterProvision, InvalidSettings,
};
use headgate_core::filter::range::RequestedRange;
use headgate_core::filter::streamed_reply::{ReplyBodyReader, ReplyPieceFuture, StreamedReply};
use headgate_core::filter::view::RequestView;
use headgate_core::filter::{Filter, FilterAction, FilterDeclaration, HookResult, LocalReply};
use headgate_core::state::calendar::unix_ms;
use headgate_core::task::{NO_KEYS_HINT, TaskSettings};
use headgate_protocol::fault::{Fault, FaultKind};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use std::sync::Arc;

pub const DESCRIPTOR: FilterDescriptor = FilterDescriptor {
    name: "serve_media",
    summary: "Serves the files of `store_media` to whoever has their URL, which is signed and expires.",
    side: ChainSide::Request,
    placement: FilterChainRules {
        provides: &[
            FilterProvision::Reply,
            FilterProvision::PathToken,
            FilterProvision::Media,
        ],
        ..FilterChainRules::ALWAYS
    },
    settings: None,
    bare: true,
    build: |_, context| {
        if context.tasks.keys.is_none() {
            return Err(
                InvalidSettings::new("`serve_media` requires `task_keys`").hint(NO_KEYS_HINT)
            );
        }
        if !(context.has_parameter)(PARAMETER) {
            return Err(
                InvalidSettings::new("the route's path has no parameter for the token")
                    .hint("set `match` of the route to `GET|HEAD /_headgate/media/{token}`"),
            );
        }
        Ok(Arc::new(ServeMediaFilter {
            tasks: context.tasks.clone(),
            store: context.features.get(),
        }))
    },
};

/// The path parameter that holds the token.
const PARAMETER: &str = "token";

struct ServeMediaFilter {
    tasks: Arc<TaskSettings>,
    store: Arc<MediaStore>,
}

impl Filter for ServeMediaFilter {
    fn declare(&self) -> FilterDeclaration {
        FilterDeclaration {
            replies_always: true,
            ..FilterDeclaration::default()
        }
    }

    fn on_head<'a>(&'a self, request: &'a mut RequestView) -> HookResult<'a> {
        match self.open(request) {
            Ok(token) => HookResult::later(self.serve(request, token)),
            Err(fault) => HookResult::fail(fault),
        }
    }
}

impl ServeMediaFilter {
    fn open(&self, request: &RequestView) -> Result<MediaToken, Fault> {
        let keys = self.tasks.keys().map_err(|_| unknown())?;
        let token = request.param(PARAMETER).unwrap_or_default();
        MediaToken::open(keys, token, unix_ms() / 1000).map_err(|_| unknown())
    }

    async fn serve(&self, request: &RequestView, token: MediaToken) -> Result<FilterAction, Fault> {
        let found = self.store.find(token.digest).await.map_err(unavailable)?;
        let object = found.ok_or_else(unknown)?;
        let tag = format!("\"{}\"", token.digest);
        let remaining = object
            .expires_s
            .min(token.expires_s)
            .saturating_sub(unix_ms() / 1000);
        let mut headers = headers(&token.content_type, &tag, remaining);
        if request
            .header("if-none-match")
            .is_some_and(|tags| matches_any(tags, &tag))
        {
            return Ok(reply(StatusCode::NOT_MODIFIED, headers));
        }
        // A range of another version would not fit to what the client has.
        let is_same = request.header("if-range").is_none_or(|known| known == tag);
        let range = request.header("range").filter(|_| is_same);
        // RFC 9110, section 14.2: only GET has ranges.
        let range = range.filter(|_| request.method == Method::GET);
        let range = RequestedRange::parse(range, object.size);
        if let Some(range) = range.content_range(object.size) {
            headers.insert(header::CONTENT_RANGE, range);
        }
        let (status, start, end) = match range {
            RequestedRange::Whole => (StatusCode::OK, 0, object.size),
            RequestedRange::Part(start, end) => (StatusCode::PARTIAL_CONTENT, start, end),
            RequestedRange::Unsatisfiable => {
                headers.remove(header::CONTENT_TYPE);
                return Ok(reply(StatusCode::RANGE_NOT_SATISFIABLE, headers));
            }
        };
        // Before the head is sent, which could not be taken back.
        let opened = self.store.open(&object, start, end).await;
        let mut reader = opened.map_err(unavailable)?.ok_or_else(unknown)?;
        let body: Option<Box<dyn ReplyBodyReader>> = match request.method {
            Method::HEAD => None,
            _ => Some(Box::new(MediaReplyBody {
                first: reader.next_piece().await.map_err(unavailable)?,
                rest: reader,
            })),
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

struct MediaReplyBody {
    first: Option<Bytes>,
    rest: ObjectReader,
}

impl ReplyBodyReader for MediaReplyBody {
    fn next_piece(&mut self) -> ReplyPieceFuture<'_> {
        Box::pin(async {
            match self.first.take() {
                Some(first) => Ok(Some(first)),
                None => self.rest.next_piece().await.map_err(unavailable),
            }
        })
    }
}

/// The headers of every reply with content. Nothing that a browser could run is shown by it.
fn headers(content_type: &str, tag: &str, remaining_s: u64) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, ascii(content_type));
    headers.insert(header::ETAG, ascii(tag));
    let cache_control = format!("private, max-age={remaining_s}");
    headers.insert(header::CACHE_CONTROL, ascii(&cache_control));
    for (name, value) in [
        (header::ACCEPT_RANGES, "bytes"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if runs_in_browsers(content_type) {
        let attachment = HeaderValue::from_static("attachment");
        headers.insert(header::CONTENT_DISPOSITION, attachment);
    }
    headers
}

fn matches_any(tags: &str, tag: &str) -> bool {
    let mut tags = tags.split(',').map(str::trim);
    tags.any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

fn ascii(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

fn reply(status: StatusCode, headers: HeaderMap) -> FilterAction {
    LocalReply {
        status,
        headers,
        body: Bytes::new(),
    }
    .into()
}

/// The same for a forged, an altered and an expired token, so that nobody learns which it is.
fn unknown() -> Fault {
    Fault::new(
        FaultKind::UnknownId,
        "no file exists at this URL, or the URL has expired",
    )
}

fn unavailable(error: MediaStoreError) -> Fault {
    tracing::error!(%error, "cannot read from the media store");
    Fault::new(
        FaultKind::Overloaded,
        "the gateway cannot read this file at the moment; try again later",
    )
    .source(error)
}
