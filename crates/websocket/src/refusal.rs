//! Whether the refusal of one request of a WebSocket is one of its caller.

use headgate_protocol::fault::FaultKind;
use headgate_protocol::json::skim;
use http::StatusCode;

/// Whether a caller whose request got this response may send no further one: its key is not valid any more, or its budget is used
/// up.
pub fn refuses_caller(status: StatusCode, body: &[u8]) -> bool {
    let code = skim::find_string(body, &["error", "code"]);
    status == StatusCode::UNAUTHORIZED || code == Some(FaultKind::OverBudget.code())
}
