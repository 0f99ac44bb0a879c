//! The inspection of HTTP/2 connections, in pieces of any size: what passes, and what is appended.

use super::inspector::Http2Inspector;
use super::{MALFORMED, MalformedHeadReason};

const LIST_BYTES_MAX: usize = 64 << 10;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:method: GET`, `:scheme: https`, `:authority: a`.
const HEAD: &[u8] = b"\x82\x87\x01\x01a";

fn encode_event(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn headers(stream: u32, fields: &[&[u8]]) -> Vec<u8> {
    encode_event(1, END_STREAM | END_HEADERS, stream, &fields.concat())
}

/// A literal field, with or without indexing.
fn literal(indexed: bool, name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut field = vec![if indexed { 0x40 } else { 0 }];
    for text in [name, value] {
        let mut length = text.len();
        field.push(length.min(127) as u8);
        if length >= 127 {
            length -= 127;
            while length >= 128 {
                field.push((length & 0x7f) as u8 | 0x80);
                length >>= 7;
            }
            field.push(length as u8);
        }
        field.extend_from_slice(text);
    }
    field
}

/// The bytes that pass if `sent` arrives in pieces of `size` bytes.
fn passed(sent: &[u8], size: usize) -> Vec<u8> {
    let mut inspector = Http2Inspector::new(LIST_BYTES_MAX);
    let (mut passed, mut ready) = (Vec::new(), Vec::new());
    for piece in sent.chunks(size) {
        let in_place = inspector.inspect(piece, &mut ready);
        passed.extend_from_slice(&piece[..in_place]);
        passed.append(&mut ready);
    }
    passed
}

fn connection(frames: &[Vec<u8>]) -> Vec<u8> {
    [PREFACE, &encode_event(4, 0, 0, b""), &frames.concat()].concat()
}

#[test]
fn what_is_well_formed_passes_as_it_came_in_any_pieces() {
    let path = literal(true, b":path", b"/v1/models?a=b");
    let field = literal(true, b"x-name", b"value");
    let huffman =
        b"\x40\x88\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf";
    let padded = [&[3][..], &[0, 0, 0, 0, 9], HEAD, b"\x84", &[0; 3]].concat();
    let sent = connection(&[
        headers(1, &[HEAD, &path, &field, huffman]),
        // Indexed fields of the dynamic table.
        headers(3, &[HEAD, b"\xc0\xbf\xbe"]),
        encode_event(0, 0, 5, &[7; 40_000]),
        encode_event(1, 0x8 | 0x20 | END_HEADERS, 7, &padded),
        encode_event(0, END_STREAM, 7, b"{}"),
        encode_event(1, END_STREAM, 9, HEAD),
        encode_event(9, 0, 9, &path[..5]),
        encode_event(9, END_HEADERS, 9, &path[5..]),
        encode_event(1, END_HEADERS, 11, &[HEAD, b"\x84"].concat()),
        headers(11, &[&literal(false, b"x-checksum", b"1")]),
        // A smaller table size, which evicts all entries.
        headers(13, &[b"\x20\x3f\xe1\x1f", HEAD, b"\x84"]),
        encode_event(6, 0, 0, &[0; 8]),
    ]);
    for size in [1, 2, 7, 33, 1000, sent.len()] {
        assert!(passed(&sent, size) == sent, "in pieces of {size}");
    }
}

#[test]
fn only_malformed_heads_are_marked() {
    let long = [b"/".as_slice(), &[b'a'; 300], b"#"].concat();
    for (field, expected) in [
        (
            literal(false, b":path", b"/k/a#frag"),
            MalformedHeadReason::Fragment,
        ),
        (
            literal(true, b":path", b"/#"),
            MalformedHeadReason::Fragment,
        ),
        (
            literal(true, b":path", &long),
            MalformedHeadReason::Fragment,
        ),
        // Huffman-coded.
        (
            b"\x04\x83\x63\xfe\xbf".to_vec(),
            MalformedHeadReason::Fragment,
        ),
        (
            literal(false, b":path", b"?x"),
            MalformedHeadReason::NoSlash,
        ),
        (literal(false, b":path", b""), MalformedHeadReason::NoSlash),
        (literal(false, b":path", b"*"), MalformedHeadReason::NoSlash),
        (
            literal(false, b":path", b"http://a/"),
            MalformedHeadReason::NoSlash,
        ),
        (
            literal(false, b":path", b"/a b"),
            MalformedHeadReason::TargetCharacter,
        ),
        (
            literal(false, b":path", b"/a\t"),
            MalformedHeadReason::TargetCharacter,
        ),
        (
            literal(false, b":path", b"/a\x7f"),
            MalformedHeadReason::TargetCharacter,
        ),
        (
            literal(false, b":scheme", b"ftp"),
            MalformedHeadReason::Scheme,
        ),
        (
            literal(false, b"x-a", b" b"),
            MalformedHeadReason::ValueBlank,
        ),
        (
            literal(false, b"x-a", b"b\t"),
            MalformedHeadReason::ValueBlank,
        ),
        (
            literal(true, b"authorization", b"Bearer a "),
            MalformedHeadReason::ValueBlank,
        ),
    ] {
        let good = headers(5, &[HEAD, b"\x84"]);
        let bad = headers(1, &[HEAD, &field]);
        let digit = [expected.digit()];
        let mark = literal(false, MALFORMED.as_bytes(), &digit);
        let with_mark = headers(1, &[HEAD, &field, &mark]);
        let sent = connection(&[bad, good.clone()]);
        let marked = connection(&[with_mark, good]);
        for size in [1, 10, sent.len()] {
            assert!(passed(&sent, size) == marked, "{expected:?} {field:x?}");
        }
        assert_eq!(MalformedHeadReason::from_digit(&digit), Some(expected));
    }
}

#[test]
fn a_malformed_field_is_found_again_in_the_table() {
    let first = headers(1, &[HEAD, &literal(true, b":path", b"/a#b")]);
    let again = headers(3, &[HEAD, b"\xbe"]);
    let passed = passed(&connection(&[first, again]), 100);
    assert_eq!(
        passed
            .windows(MALFORMED.len())
            .filter(|name| *name == MALFORMED.as_bytes())
            .count(),
        2
    );
    // `\xbe` is the newest entry of the dynamic table, which is empty here.
    let sent = connection(&[headers(1, &[HEAD, b"\x84\xbe"])]);
    assert!(
        super::tests::passed(&sent, 100) == sent,
        "the library ends such a connection"
    );
}

#[test]
fn trailers_that_frame_or_route_are_refused_and_others_pass() {
    for (field, refused) in [
        (literal(false, b"x-checksum", b"abc"), false),
        (literal(false, b"grpc-status", b"0"), false),
        (literal(false, b":path", b"/"), true),
        (b"\x84".to_vec(), true),
        (b"\x88".to_vec(), true),
        (literal(false, b":other", b"a"), true),
        (literal(false, b"content-length", b"5"), true),
        (literal(false, b"transfer-encoding", b"chunked"), true),
        (literal(false, b"te", b"trailers"), true),
        (literal(false, b"host", b"b"), true),
        // `:path`, Huffman-coded.
        (b"\x00\x84\xb9\x58\xd3\x3f\x01/".to_vec(), true),
        (vec![0x90; 101], true),
    ] {
        let sent = connection(&[
            encode_event(1, END_HEADERS, 1, &[HEAD, b"\x84"].concat()),
            encode_event(0, 0, 1, b"{}"),
            headers(1, &[&field]),
        ]);
        let passed = passed(&sent, 64);
        let appended = literal(false, b"connection", b"close");
        assert_eq!(passed.ends_with(&appended), refused, "{field:x?}");
        assert_eq!(passed == sent, !refused, "{field:x?}");
    }
}

#[test]
fn a_list_of_too_many_or_too_large_fields_is_made_too_large_for_the_library() {
    let entry = literal(true, b"x-large", &[b'a'; 3_900]);
    for (fields, refused) in [
        (vec![0x90; 97], false),
        (vec![0x90; 98], true),
        (vec![0x90; 1_400], true),
        // An entry of 4 KiB: first literal, then indexed.
        ([entry.clone(), vec![0xbe; 10]].concat(), false),
        ([entry.clone(), vec![0xbe; 17]].concat(), true),
        (literal(false, b"x-a", &[b'a'; 60_000]), false),
        (literal(false, b"x-a", &[b'a'; 66_000]), true),
        (literal(true, b"x-a", &[b'a'; 100_000]), true),
        (literal(false, &[b'a'; 100_000], b"a"), true),
    ] {
        let block = [HEAD, &fields].concat();
        let pieces: Vec<&[u8]> = block.chunks(16 << 10).collect();
        let mut frames = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let (kind, mut flags) = if at == 0 { (1, END_STREAM) } else { (9, 0) };
            flags |= if at + 1 == pieces.len() {
                END_HEADERS
            } else {
                0
            };
            frames.push(encode_event(kind, flags, 1, piece));
        }
        // The HPACK state of the connection is correct afterwards.
        frames.push(headers(
            3,
            &[HEAD, b"\x84", &literal(true, b"x-b", b"c"), b"\xbe"],
        ));
        let sent = connection(&frames);
        for size in [9_000, sent.len()] {
            let passed = passed(&sent, size);
            assert_eq!(passed != sent, refused, "{} bytes", fields.len());
            assert!(passed.ends_with(frames.last().unwrap()));
        }
    }
}

#[test]
fn nothing_of_a_header_block_passes_before_its_end() {
    let begun = connection(&[encode_event(
        1,
        END_STREAM,
        1,
        &[HEAD, &[0x90; 50]].concat(),
    )]);
    let before = connection(&[]);
    assert!(passed(&begun, 40) == before);
    let mut inspector = Http2Inspector::new(LIST_BYTES_MAX);
    let mut ready = Vec::new();
    inspector.inspect(&begun, &mut ready);
    assert!(inspector.is_in_head() && ready.is_empty());
    inspector.inspect(&encode_event(9, END_HEADERS, 1, b"\x84"), &mut ready);
    assert!(!inspector.is_in_head() && !ready.is_empty());
}

#[test]
fn nothing_passes_after_a_compression_error() {
    let good = headers(5, &[HEAD, b"\x84"]);
    for bad in [
        headers(1, &[b"\xff\xff\xff\xff\xff\x01"]),
        headers(1, &[b"\xc6"]),
        headers(1, &[b"\x80"]),
        headers(1, &[b"\x82\x20"]),
        headers(1, &[b"\x3f\xe2\x1f"]),
        headers(1, &[b"\x00\x85\xff\xff\xff\xff\xff\x00"]),
        headers(1, &[b"\x00\x05a"]),
        encode_event(9, END_HEADERS, 1, HEAD),
        encode_event(1, 0x8 | END_HEADERS, 1, &[9, 1]),
        encode_event(1, 0x20 | END_HEADERS, 1, &[0, 0, 0, 1, 0, 0x82]),
        [encode_event(1, 0, 1, HEAD), encode_event(0, 0, 1, b"a")].concat(),
        [
            encode_event(1, 0, 1, HEAD),
            encode_event(9, END_HEADERS, 3, b"\x84"),
        ]
        .concat(),
        [encode_event(1, 0, 1, HEAD), good.clone()].concat(),
    ] {
        let sent = connection(&[bad.clone(), good.clone()]);
        let expected = connection(&[bad]);
        for size in [1, 50, sent.len()] {
            assert!(passed(&sent, size) == expected, "{expected:x?}");
        }
    }
}
