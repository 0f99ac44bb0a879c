//! The outcome of an exchange that a plugin ends or fails.

use crate::{PluginFailure, PluginReply};
use headgate_core::filter::{FilterAction, LocalReply};
use headgate_protocol::fault::{Fault, FaultKind, ServiceDenialStatus};
use http::{StatusCode, header};

const FAILED: &str = "this request could not be processed by a plugin of this gateway; try again";
const DENIED: &str = "this request was denied by a plugin of this gateway";
/// Longest message of a plugin that becomes the message of an error, in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;

/// The reply to a request. One without a body that is an error gets the shape of the protocol's errors.
pub fn local_reply(plugin: &str, reply: PluginReply) -> Result<FilterAction, Fault> {
    if reply.body.is_empty() && denial(reply.status).is_some() {
        return Err(denied_fault(plugin, &reply));
    }
    let mut headers = reply.headers;
    for name in [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
    ] {
        headers.remove(name);
    }
    Ok(LocalReply {
        status: reply.status,
        headers,
        body: reply.body,
    }
    .into())
}

/// The error for a response in whose place a plugin replies. A body of text is its message.
pub fn denied_fault(plugin: &str, reply: &PluginReply) -> Fault {
    let status = denial(reply.status).unwrap_or(ServiceDenialStatus::Forbidden);
    let text = str::from_utf8(&reply.body).ok().map(str::trim);
    let text = text.filter(|text| {
        !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.starts_with(['{', '[', '<'])
    });
    Fault::new(FaultKind::Denied(status), text.unwrap_or(DENIED)).detail(format!(
        "plugin `{plugin}` replied with status {}: {}",
        reply.status, reply.details
    ))
}

/// The error for an exchange that a plugin closes without a response.
pub fn closed_fault(plugin: &str) -> Fault {
    Fault::new(FaultKind::Denied(ServiceDenialStatus::Forbidden), DENIED)
        .detail(format!("plugin `{plugin}` closed the exchange"))
}

/// The error for a request whose `body` is larger than the plugin may be given, if that is why the plugin failed.
pub fn too_large_fault(plugin: &str, failure: &PluginFailure, body: &[u8]) -> Option<Fault> {
    let PluginFailure::Body { limit } = failure else {
        return None;
    };
    let message = format!(
        "the request body exceeds the limit of {limit} bytes, up to which this gateway can check it; send a smaller body"
    );
    let detail = format!("plugin `{plugin}` gets at most {limit} bytes");
    (body.len() > *limit).then(|| Fault::new(FaultKind::TooLarge, message).detail(detail))
}

/// The error for an exchange that cannot continue without the plugin.
pub fn failed_fault(plugin: &str, reason: &str) -> Fault {
    Fault::new(FaultKind::CheckUnavailable, FAILED).detail(format!("plugin `{plugin}`: {reason}"))
}

fn denial(status: StatusCode) -> Option<ServiceDenialStatus> {
    Some(match status.as_u16() {
        400 => ServiceDenialStatus::BadRequest,
        401 => ServiceDenialStatus::Unauthorized,
        403 => ServiceDenialStatus::Forbidden,
        404 => ServiceDenialStatus::NotFound,
        429 => ServiceDenialStatus::TooManyRequests,
        451 => ServiceDenialStatus::UnavailableForLegalReasons,
        _ => return None,
    })
}
