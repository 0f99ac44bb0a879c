//! The inspector of HTTP/2 connections: pieces change nothing, well-formed frames pass unchanged, memory is bounded.

use crate::input::cuts;
use headgate_http2_inspection::Http2Inspector;

const LIST_BYTES_MAX: usize = 4 << 10;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How much may follow a piece of the client's in its place: frames of an open header block, and what is appended to it.
const HELD_BYTES_MAX: usize = 64 << 10;

/// What the library gets of a connection, and what the client gets from the inspector.
#[derive(Debug, PartialEq, Eq)]
struct InspectedConnection {
    passed: Vec<u8>,
    replies: Vec<u8>,
    is_over: bool,
    refused_lists: u32,
}

pub fn run(input: &[u8]) {
    let connection = [PREFACE, input].concat();
    let whole = inspect(&[&connection]);
    for pieces in cuts(&connection) {
        let cut = inspect(&pieces);
        assert_eq!(cut, whole, "the connection in pieces");
    }
    assert!(whole.passed.len() <= 2 * connection.len() + HELD_BYTES_MAX);
    assert!(whole.passed.starts_with(PREFACE));
}

fn inspect(pieces: &[&[u8]]) -> InspectedConnection {
    let mut inspector = Http2Inspector::new(LIST_BYTES_MAX);
    let (mut passed, mut ready) = (Vec::new(), Vec::new());
    let mut replies = Vec::new();
    let mut refused_lists = 0;
    for piece in pieces {
        let in_place = inspector.inspect(piece, &mut ready);
        assert!(in_place <= piece.len());
        passed.extend_from_slice(&piece[..in_place]);
        passed.append(&mut ready);
        refused_lists += inspector.take_refused_lists();
        let (_, waiting) = inspector.output();
        replies.append(waiting);
        if inspector.is_over() {
            break;
        }
    }
    InspectedConnection {
        passed,
        replies,
        is_over: inspector.is_over(),
        refused_lists,
    }
}
