//! Fields of a request of a batch in the spelling of its protocol.

use crate::request_place::RequestPlace;
use headgate_protocol::Protocol;
use std::fmt::Write;

/// A JSON pointer into the body of a request as a path from the request: `body.messages[0].role`.
pub fn spelled(place: RequestPlace, pointer: &str, protocol: Protocol) -> String {
    let has_brackets = protocol.descriptor().errors.has_brackets;
    let mut path = place.body().to_owned();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let is_index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        let written = match is_index && has_brackets {
            true => write!(path, "[{step}]"),
            false => write!(path, ".{step}"),
        };
        written.expect("a text grows");
    }
    path
}
