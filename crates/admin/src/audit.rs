//! The audit log: one line for each action on the admin pages, with who did it and how it ended.

use super::access::AdminUser;
use super::page::AdminRequest;
use headgate_core::feature::pages::{ActionTargetParameter, AuditedAdminAction};
use headgate_core::serve::AppClientConnection;
use headgate_protocol::secret_shape;
use http::StatusCode;

/// The target of the lines. The process log writes them whatever `RUST_LOG` is.
const TARGET: &str = "headgate::audit";
/// The maximum length of the name of an object.
const SUBJECT_BYTES_MAX: usize = 200;

/// An action under way. Its line is written when it ends, also if the client disconnects before.
pub(super) struct ActionAuditGuard<'r> {
    action: &'r AuditedAdminAction,
    request: &'r AdminRequest,
    status: Option<StatusCode>,
}

impl<'r> ActionAuditGuard<'r> {
    pub fn begin(action: &'r AuditedAdminAction, request: &'r AdminRequest) -> Self {
        Self {
            action,
            request,
            status: None,
        }
    }

    /// The action has ended with this status.
    pub fn end(mut self, status: StatusCode) {
        self.status = Some(status);
    }

    /// The name of the object in the path or the body, as the log may have it.
    fn named_subject(&self) -> Option<String> {
        let name = self.request.subject.get()?;
        let is_short = name.len() <= SUBJECT_BYTES_MAX;
        is_short.then(|| secret_shape::masked(name).into_owned())
    }

    /// The name of the object in the query, as the log may have it.
    fn subject_name(&self, subject: ActionTargetParameter) -> Option<String> {
        let name = self.request.parameter(subject.parameter)?;
        (name.len() <= SUBJECT_BYTES_MAX).then(|| match (subject.is_name)(&name) {
            true => name,
            // Somebody may have typed a key where a name belongs.
            false => secret_shape::masked(&name).into_owned(),
        })
    }
}

impl Drop for ActionAuditGuard<'_> {
    fn drop(&mut self) {
        let subject = self.action.subject;
        let subject = match subject {
            Some(subject) => self.subject_name(subject),
            None => self.named_subject(),
        };
        let AdminRequest { client, user, .. } = self.request;
        write_line(self.action.name, subject, user, client, self.status);
    }
}

/// Writes the line of an action; `status` is that of the response, if there was one.
pub(super) fn write_line(
    action: &str,
    subject: Option<String>,
    user: &AdminUser,
    client: &AppClientConnection,
    status: Option<StatusCode>,
) {
    let peer = client.address.map(tracing::field::display);
    tracing::info!(
        target: TARGET,
        action,
        subject = subject.as_deref(),
        key = user.name(),
        peer,
        outcome = outcome(status),
        status = status.map(|status| status.as_u16()),
        "admin action"
    );
}

fn outcome(status: Option<StatusCode>) -> &'static str {
    match status {
        None => "client_disconnected",
        Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => "denied",
        Some(status) if status.is_client_error() => "refused",
        Some(status) if status.is_server_error() => "failed",
        Some(_) => "done",
    }
}
