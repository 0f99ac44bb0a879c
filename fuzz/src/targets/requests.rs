//! Requests of HTTP/1.1 callers: read as a second parser reads them, whole and in pieces.
//!
//! Six bytes of an input determine how it is cut, the stream follows.

use headgate_gateway::fuzzing::check_requests;

pub fn run(input: &[u8]) {
    if let Err(difference) = check_requests(input) {
        panic!("{difference}");
    }
}
