//! Test cases of a vendor's own API: what the provider receives of a create, and what callers get of its responses.

use super::case_file::NativeCreateCase;
use headgate_core::catalog::egress::EgressPolicy;
use headgate_core::task::family::{NativeOperation, NativeResponse, NativeTaskView, VideoFamily};
use headgate_core::task::id::TaskId;
use headgate_core::task::status::TaskStatus;
use headgate_protocol::json::JsonDocument;
use serde_json::{Map, Value, json};

/// The caller's id of the task in responses.
const ID: &str = "ID";
/// The same in URLs of files.
const FILE_ID: &str = "FILE_ID";
/// The gateway's URL in responses.
const GATEWAY: &str = "https://gateway.example";

/// What comes of a response for callers of the vendor's own API.
pub struct NativeOutcome {
    pub body: Value,
    /// Where URLs stand about which the definition has nothing.
    pub undeclared_urls: Vec<String>,
}

/// The provider's request for a create in the vendor's own format, or the member that is refused.
pub fn create(
    family: &VideoFamily,
    channel_model: &str,
    case: &NativeCreateCase,
) -> Result<Map<String, Value>, String> {
    let mut calls = family.native_api().calls().iter();
    let call =
        calls.find(|call| call.operation == NativeOperation::Create && call.has_path(&case.path));
    let Some(call) = call else {
        return Err(case.path.clone());
    };
    let mut body = Value::Object(case.body.clone());
    let mut refused = family.native_api().refused().iter();
    if let Some(pointer) =
        refused.find(|pointer| body.pointer(pointer).is_some_and(|node| !node.is_null()))
    {
        return Err(pointer.trim_start_matches('/').replace('/', "."));
    }
    let member = family.model_member();
    if let Some(model) = member.and_then(|pointer| body.pointer_mut(&pointer)) {
        *model = json!(channel_model);
    }
    let mut outcome = Map::new();
    outcome.insert("method".into(), json!(call.method.as_str()));
    outcome.insert("path".into(), json!(call.create_path(channel_model)));
    outcome.insert("body".into(), body);
    Ok(outcome)
}

/// A response to a create or a query; `None` if the family does not declare the vendor's own API.
pub fn response(
    family: &VideoFamily,
    task: &TaskId,
    response: &JsonDocument,
    status: Option<&TaskStatus>,
) -> Option<NativeOutcome> {
    with_view(family, task, status, |view| {
        Some(family.native(response, view))
    })
}

/// A response to the request for the result, which is in the status.
pub fn result(family: &VideoFamily, task: &TaskId, status: &JsonDocument) -> Option<NativeOutcome> {
    with_view(family, task, None, |view| {
        family.native_result(status, view)
    })
}

fn with_view(
    family: &VideoFamily,
    task: &TaskId,
    status: Option<&TaskStatus>,
    rewrite: impl FnOnce(NativeTaskView<'_>) -> Option<NativeResponse>,
) -> Option<NativeOutcome> {
    if !family.native_api().replaces_urls() {
        return None;
    }
    let egress = EgressPolicy::default();
    let native = rewrite(NativeTaskView {
        task,
        id: ID,
        file_id: FILE_ID,
        status,
        seal: &|upstream| format!("ID of {upstream}"),
        base_url: Some(GATEWAY),
        is_allowed: &|url| egress.allows_url(url),
    })?;
    Some(NativeOutcome {
        body: serde_json::from_slice(&native.body).ok()?,
        undeclared_urls: native.removed,
    })
}
