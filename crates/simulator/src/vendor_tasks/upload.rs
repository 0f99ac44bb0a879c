//! Files that are uploaded before a create: each gets an id, which creates of its account may name.

use super::answer;
use crate::api_error::ApiError;
use crate::endpoint_result::SuccessfulResponse;
use crate::headers::form_boundary;
use crate::request_context::RequestContext;
use crate::vendors::descriptor::{UploadRule, VendorCreate};
use crate::video_task::{TaskPlan, VideoTask};
use headgate_protocol::ids::form_values;
use serde_json::json;
use std::time::Duration;

/// The beginnings of the files that are taken: PNG, JPEG and WebP.
const IMAGES: [&[u8]; 3] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF"];

/// Takes a file, or a URL, from a form.
///
/// # Errors
/// There is neither or both, or the file is no image.
pub fn take(
    rule: &'static UploadRule,
    call: &RequestContext,
) -> Result<SuccessfulResponse, ApiError> {
    let boundary = form_boundary(&call.head.headers);
    let boundary = boundary.ok_or_else(|| ApiError::invalid("The body is no form."))?;
    let field = |name: &str| form_values(call.raw, boundary, name).next();
    let (file, url) = (field(rule.file), field(rule.url));
    let is_taken = match (file, url) {
        (Some(file), None) => IMAGES.iter().any(|start| file.starts_with(start)),
        (None, Some(url)) => url.starts_with(b"http://") || url.starts_with(b"https://"),
        _ => false,
    };
    if !is_taken {
        return Err(ApiError::invalid("Send one image, as a file or as a URL.").param(rule.file));
    }
    let id = call.ids.number();
    let plan = TaskPlan::from_directives(call.directives, call.options, Duration::MAX);
    let echoed = json!({"bytes": file.map_or(0, <[u8]>::len)});
    let upload = VideoTask::new(id.to_string(), rule.kind, echoed, plan, call.account);
    call.tasks.put(upload);
    Ok(answer((rule.answer)(id), Duration::ZERO))
}

/// Checks that the ids in a create are those of files of its account.
///
/// # Errors
/// `400` that names the first one that is not.
pub fn check_ids(
    rule: &UploadRule,
    create: &VendorCreate,
    call: &RequestContext,
) -> Result<(), ApiError> {
    for place in rule.places {
        let Some(id) = create.body.get(*place) else {
            continue;
        };
        let id = id.to_string();
        let found = call.tasks.read(call.account, rule.kind, &id, |_| ());
        if found.is_none() {
            return Err(ApiError::invalid(format!("Image {id} not found.")).param(*place));
        }
    }
    Ok(())
}
