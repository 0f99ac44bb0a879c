//! The vendor's own API: the call that a request is, and responses in the vendor's shape.

use super::poll::{QueryableTask, reply};
use super::{MapTaskFilter, TaskOperation};
use crate::filter::callbacks::query_member;
use bytes::Bytes;
use headgate_core::filter::FilterAction;
use headgate_core::filter::descriptor::{BuildContext, InvalidSettings};
use headgate_core::filter::view::RequestView;
use headgate_core::task::family::{
    NativeCall, NativeOperation, NativeResponse, NativeTaskView, VideoFamily,
};
use headgate_core::task::id::{TaskId, in_lower_case};
use headgate_core::task::state::TaskState;
use headgate_core::task::status::TaskStatus;
use headgate_protocol::TaskApiFormat;
use headgate_protocol::fault::{Fault, FaultKind};
use headgate_protocol::json::JsonDocument;
use http::{HeaderMap, StatusCode, header};
use std::borrow::Cow;
use std::sync::Arc;

/// The path parameters that hold a task id; both names are accepted.
const PARAMETERS: [&str; 2] = ["id", "task_id"];

/// How many places of removed URLs a log line has.
const PLACES_MAX: usize = 8;

/// The calls of a vendor's API that the paths of a route are.
pub(super) struct NativeRouteCalls(Vec<NativeRouteCall>);

/// A call, and where the gateway serves it.
pub(super) struct NativeRouteCall {
    pub call: NativeCall,
    family: Arc<str>,
    /// Before the paths of the vendor's API.
    prefix: String,
}

impl NativeRouteCalls {
    /// # Errors
    /// A path of the route is no call of the family's that does what the route is for.
    pub fn new(
        operation: TaskOperation,
        format: TaskApiFormat,
        context: &BuildContext<'_>,
    ) -> Result<Self, InvalidSettings> {
        let protocol = context.protocol.filter(|_| format == TaskApiFormat::Native);
        let families = protocol.into_iter();
        let families: Vec<_> = families
            .flat_map(|protocol| context.tasks.native_families(protocol))
            .collect();
        if families.is_empty() && matches!(operation, TaskOperation::Native | TaskOperation::Result)
        {
            return Err(InvalidSettings::new(
                "`native` and `result` require a route whose protocol is that of a family with `native.create`",
            )
            .at("/operation")
            .hint("write the family's protocol in the route, or another operation"));
        }
        let mut found = Vec::new();
        if families.is_empty() || operation == TaskOperation::List {
            return Ok(Self(found));
        }
        for path in context.paths {
            let known = found.len();
            for family in &families {
                let calls = family.native_api().calls().iter();
                let calls = calls.filter(|call| operation.is_call(call.operation));
                found.extend(calls.filter_map(|call| {
                    let prefix = call.prefix_in(&path.path)?;
                    path.methods
                        .contains(&call.method)
                        .then(|| NativeRouteCall {
                            call: call.clone(),
                            family: family.name.clone(),
                            prefix: prefix.to_owned(),
                        })
                }));
            }
            if found.len() == known {
                let methods: Vec<_> = path.methods.iter().map(|method| method.as_str()).collect();
                return Err(unknown_call(
                    operation,
                    &families,
                    &format!("{} {}", methods.join("|"), path.path),
                ));
            }
        }
        Ok(Self(found))
    }

    /// The call that a request is; of the family, if there are several of one protocol.
    pub fn find(&self, request: &RequestView, family: Option<&str>) -> Option<&NativeRouteCall> {
        let mut calls = self.0.iter();
        calls.find(|known| {
            let path = request.path.strip_prefix(&known.prefix);
            known.call.method == request.method
                && path.is_some_and(|path| known.call.has_path(path))
                && family.is_none_or(|family| *known.family == *family)
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn unknown_call(
    operation: TaskOperation,
    families: &[&Arc<VideoFamily>],
    path: &str,
) -> InvalidSettings {
    let calls = families
        .iter()
        .flat_map(|family| family.native_api().calls());
    let calls = calls.filter(|call| operation.is_call(call.operation));
    let patterns: Vec<_> = calls
        .map(|call| format!("`{}`", call.pattern("")))
        .collect();
    let reason = format!("`{path}` is no call of the vendor's API that this route is for");
    let hint = match patterns.is_empty() {
        true => "the family's `native` has no such call".to_owned(),
        false => format!(
            "write {}, with or without a path before it",
            patterns.join(" or ")
        ),
    };
    InvalidSettings::new(reason).at("/operation").hint(hint)
}

impl TaskOperation {
    /// Whether a route for this operation may be for a call of a vendor's API.
    fn is_call(self, call: NativeOperation) -> bool {
        match self {
            Self::Create => call == NativeOperation::Create,
            Self::Query => call == NativeOperation::Query,
            Self::Cancel => call == NativeOperation::Cancel,
            Self::Result => call == NativeOperation::Result,
            Self::Content => call == NativeOperation::Content,
            Self::Native => call != NativeOperation::Create,
            Self::Delete | Self::List | Self::Unsupported => false,
        }
    }
}

impl MapTaskFilter {
    /// What the request asks for: the operation of the route, or that of the vendor's call.
    pub(super) fn operation(&self, request: &RequestView) -> TaskOperation {
        if self.operation != TaskOperation::Native {
            return self.operation;
        }
        let call = self.calls.find(request, None);
        match call.map(|known| known.call.operation) {
            Some(NativeOperation::Cancel) => TaskOperation::Cancel,
            Some(NativeOperation::Result) => TaskOperation::Result,
            Some(NativeOperation::Content) => TaskOperation::Content,
            Some(NativeOperation::Query | NativeOperation::Create) | None => TaskOperation::Query,
        }
    }

    /// The caller's task id, in the path or in the query.
    pub(super) fn id_in<'r>(&self, request: &'r RequestView) -> Option<Cow<'r, str>> {
        if let Some(id) = PARAMETERS.iter().find_map(|name| request.param(name)) {
            return Some(id.into());
        }
        let name = self.calls.find(request, None)?.call.id_in_query()?;
        query_member(request.query.as_deref(), name).map(Cow::from)
    }

    /// Whether each path of the route names a task.
    pub(super) fn names_task(calls: &NativeRouteCalls, context: &BuildContext<'_>) -> bool {
        let has_parameter = PARAMETERS.iter().any(|name| (context.has_parameter)(name));
        has_parameter || !calls.is_empty()
    }

    /// Replies with the provider's response to the request for the result of a task.
    pub(super) async fn result(&self, request: &mut RequestView) -> Result<FilterAction, Fault> {
        let Some(subrequests) = request.subrequests.clone() else {
            return Ok(FilterAction::Continue);
        };
        let polled = self.polled_task(request)?;
        let subrequest = polled.status_request(request, &subrequests)?;
        let status_query = polled.status_query.clone();
        let report = match self.polls.status(status_query, subrequest).await {
            Ok(known) => known.report,
            Err(error) => return self.error_reply(request, &polled, &error),
        };
        let result = self.with_native_view(request, &polled, None, |view| {
            polled.family().native_result(&report.response, view)
        });
        let result = result.ok_or_else(|| not_ready(report.state))?;
        let status = match report.state {
            TaskState::Failed => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::OK,
        };
        let body = self.reported(request, polled.family(), result);
        Ok(reply(status, HeaderMap::new(), body))
    }

    /// A provider's response about a task that was polled, in the vendor's shape.
    pub(super) fn native(
        &self,
        request: &RequestView,
        polled: &QueryableTask,
        response: &JsonDocument,
        status: Option<&TaskStatus>,
    ) -> Bytes {
        let native = self.with_native_view(request, polled, status, |view| {
            polled.family().native(response, view)
        });
        self.reported(request, polled.family(), native)
    }

    /// A provider's response to a create, in the vendor's shape.
    pub(super) fn native_created(
        &self,
        request: &RequestView,
        family: &VideoFamily,
        response: &JsonDocument,
        (id, task): (&str, &TaskId),
    ) -> Bytes {
        let native = self.with_view(request, (id, task), None, |view| {
            family.native(response, view)
        });
        self.reported(request, family, native)
    }

    fn with_native_view<T>(
        &self,
        request: &RequestView,
        polled: &QueryableTask,
        status: Option<&TaskStatus>,
        use_view: impl FnOnce(NativeTaskView<'_>) -> T,
    ) -> T {
        self.with_view(request, (&polled.id, polled.task()), status, use_view)
    }

    fn with_view<T>(
        &self,
        request: &RequestView,
        (id, task): (&str, &TaskId),
        status: Option<&TaskStatus>,
        use_view: impl FnOnce(NativeTaskView<'_>) -> T,
    ) -> T {
        let seal = |upstream: &str| {
            let keys = self.tasks.keys();
            keys.map_or_else(|_| String::new(), |keys| keys.seal_sibling(task, upstream))
        };
        use_view(NativeTaskView {
            task,
            id,
            file_id: &in_lower_case(id),
            status,
            seal: &seal,
            base_url: self.base_url(request, &task.family).as_deref(),
            is_allowed: &|url| self.egress.allows_url(url),
        })
    }

    /// The gateway's URL under which the request's API is served; `None` if it is none of a vendor.
    fn base_url(&self, request: &RequestView, family: &str) -> Option<String> {
        let prefix = &self.calls.find(request, Some(family))?.prefix;
        if let Some(public_url) = &self.public_url {
            return Some(public_url.join(prefix));
        }
        let host = request.headers.get(header::HOST)?.to_str().ok()?;
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
        let scheme = request.scheme();
        host.bytes()
            .all(is_host)
            .then(|| format!("{scheme}://{host}{prefix}"))
    }

    /// The body of a response, after the URLs that were removed from it are counted and logged.
    fn reported(
        &self,
        request: &RequestView,
        family: &VideoFamily,
        native: NativeResponse,
    ) -> Bytes {
        if native.removed.is_empty() {
            return native.body;
        }
        self.polls
            .counters()
            .count_removed_urls(native.removed.len());
        tracing::warn!(
            id = &*request.id,
            family = &*family.name,
            places = native.removed[..native.removed.len().min(PLACES_MAX)].join(", "),
            "URLs of the provider were removed from a response in its own format"
        );
        native.body
    }
}

fn not_ready(state: TaskState) -> Fault {
    let state = state.name();
    let message =
        format!("the task is {state}, and has no result; query its status until it has succeeded");
    Fault::new(FaultKind::Invalid, message)
}
