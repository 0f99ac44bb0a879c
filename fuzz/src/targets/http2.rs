//! The inspector of HTTP/2 connections: pieces change nothing, well-formed heads pass unchanged, others are marked, and the
//! library reads the same header blocks.
//!
//! An input is what the client sends after the preface, and after lines with `--`, in turns what the server and the client
//! send.

mod library;

use crate::input::{cuts, parts};
use headgate_http2_inspection::{Http2Inspector, MALFORMED, OutputFrameTracker};
use library::check_library;
use std::io::IoSlice;

const LIST_BYTES_MAX: usize = 4 << 10;
/// Longest path and value of the requests that the target makes, in bytes.
const FIELD_BYTES_MAX: usize = 100;
/// `:method: GET`, `:scheme: https`, `:authority: a`.
const PSEUDO_FIELDS: &[u8] = b"\x82\x87\x01\x01a";
/// Number of turns of an input, the client's first.
const TURNS: usize = 6;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How much may follow a piece of the client's in its place: frames of an open header block, and what is appended to it.
const HELD_BYTES_MAX: usize = 64 << 10;

/// What the library gets of a connection, and what the client gets from the inspector.
#[derive(Debug, Default, PartialEq, Eq)]
struct InspectedConnection {
    passed: Vec<u8>,
    replies: Vec<u8>,
    is_over: bool,
    refused_lists: u32,
    /// Whether the client's last frame or header block is incomplete.
    is_open_head: bool,
    /// Whether the server's last frame is.
    is_open_output: bool,
}

pub fn run(input: &[u8]) {
    let turns: [&[u8]; TURNS] = parts(input);
    let connection = [PREFACE, turns[0]].concat();
    let mut bytes = turns;
    bytes[0] = &connection;
    let whole = inspect(&bytes.map(|turn| vec![turn]));
    let cut_turns = bytes.map(cuts);
    for way in 0..3 {
        let cut = inspect(&cut_turns.each_ref().map(|ways| ways[way].clone()));
        assert_eq!(cut, whole, "the connection in pieces");
    }
    assert!(whole.passed.len() <= 2 * (input.len() + PREFACE.len()) + HELD_BYTES_MAX);
    assert!(whole.passed.starts_with(PREFACE));
    let alone = inspect(&[vec![&connection]]);
    check_library(&alone.passed, alone.is_over, LIST_BYTES_MAX);
    check_fields(input);
}

/// A request whose path and whose header value are the first two lines of the input, and another one that has both from the
/// dynamic table, pass unchanged if they are well-formed, and are marked if not.
fn check_fields(input: &[u8]) {
    let mut lines = input.split(|byte| *byte == b'\n');
    let [path, value] = std::array::from_fn(|_| {
        let line = lines.next().unwrap_or_default();
        &line[..line.len().min(FIELD_BYTES_MAX)]
    });
    let is_path = path.first() == Some(&b'/')
        && path
            .iter()
            .all(|byte| (b'!'..).contains(byte) && !b"#\x7f".contains(byte));
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let is_value = !is_blank(value.first()) && !is_blank(value.last());
    let literals = [literal(b":path", path), literal(b"x-a", value)].concat();
    let frames = [
        frame(4, 0, 0, b""),
        frame(1, 5, 1, &[PSEUDO_FIELDS, &literals].concat()),
        // The newest entries of the table.
        frame(1, 5, 3, &[PSEUDO_FIELDS, b"\xbf\xbe"].concat()),
    ];
    let connection = [PREFACE, &frames.concat()].concat();
    let passed = inspect(&[vec![&connection]]).passed;
    match is_path && is_value {
        true => assert_eq!(passed, connection, "well-formed heads pass unchanged"),
        false => {
            let marks = passed
                .windows(MALFORMED.len())
                .filter(|window| *window == MALFORMED.as_bytes());
            assert_eq!(marks.count(), 2, "both heads are marked");
        }
    }
    // A table of no bytes has no entries.
    let emptied = frame(1, 5, 5, &[b"\x20", PSEUDO_FIELDS, b"\xbe"].concat());
    let whole = inspect(&[vec![&connection], vec![], vec![&emptied]]);
    assert!(whole.is_over, "an index lies beyond the table");
}

/// A literal field that is added to the table. Name and value are below 127 bytes.
fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
    let (name_bytes, value_bytes) = (name.len() as u8, value.len() as u8);
    [&[0x40, name_bytes], name, &[value_bytes], value].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Inspects a connection of turns that come in pieces, the client's first.
fn inspect(turns: &[Vec<&[u8]>]) -> InspectedConnection {
    let mut inspector = Http2Inspector::new(LIST_BYTES_MAX);
    let mut server = OutputFrameTracker::default();
    let mut connection = InspectedConnection::default();
    for (number, pieces) in turns.iter().enumerate() {
        for piece in pieces {
            if number % 2 == 0 {
                connection.receive(&mut inspector, piece);
            } else {
                let slices = [IoSlice::new(piece), IoSlice::new(b"not sent")];
                let (streams, _) = inspector.output();
                server.follow(&slices, piece.len(), streams);
            }
            if inspector.is_over() {
                connection.is_over = true;
                return connection;
            }
        }
    }
    connection.is_open_head = inspector.is_in_head();
    connection.is_open_output = !server.is_between_frames();
    connection
}

impl InspectedConnection {
    fn receive(&mut self, inspector: &mut Http2Inspector, piece: &[u8]) {
        let mut ready = Vec::new();
        let in_place = inspector.inspect(piece, &mut ready);
        assert!(in_place <= piece.len());
        self.passed.extend_from_slice(&piece[..in_place]);
        self.passed.append(&mut ready);
        self.refused_lists += inspector.take_refused_lists();
        let (_, waiting) = inspector.output();
        self.replies.append(waiting);
    }
}
