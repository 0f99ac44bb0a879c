//! Tests of SSE parsing: events are the same however the stream is cut, and no byte is lost, added or moved.

use proptest::prelude::*;

use super::*;

const LIMIT: usize = 64;

/// What a client sees of an event: name, data, whether it was oversize.
type DecodedEvent = (Option<String>, String, bool);

/// Parses chunks; returns what a client sees, and the bytes of all events.
fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<DecodedEvent>, Vec<u8>) {
    let mut framer = SseDecoder::new(LIMIT);
    let (mut seen, mut raw) = (Vec::new(), Vec::new());
    let mut in_oversize = false;
    let mut note = |event: SseEvent| {
        raw.extend_from_slice(&event.raw);
        // The LF of a CR LF that was cut may be returned before or after an event.
        if &event.raw[..] == b"\n" {
            return;
        }
        // The pieces of one oversize event count once, because their number depends on the chunks.
        let continues = in_oversize && event.is_oversize();
        in_oversize = event.is_oversize();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        if event.is_oversize() && !continues || !event.data().is_empty() {
            seen.push((
                event.name().map(text),
                text(event.data()),
                event.is_oversize(),
            ));
        }
    };
    for chunk in chunks {
        framer.push(&Bytes::copy_from_slice(chunk));
        while let Some(event) = framer.next() {
            note(event);
        }
    }
    framer.finish().into_iter().for_each(&mut note);
    (seen, raw)
}

fn seen(stream: &str) -> Vec<DecodedEvent> {
    read([stream.as_bytes()]).0
}

fn event(name: &str, data: &str) -> DecodedEvent {
    (
        (!name.is_empty()).then(|| name.to_owned()),
        data.to_owned(),
        false,
    )
}

/// Streams of every kind, written with LF.
const CORPUS: [&str; 9] = [
    "data: {\"a\":1}\n\ndata: [DONE]\n\n",
    "event: message_start\ndata: {}\n\n: comment\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n",
    "\u{feff}data: é日🦀\nid: 7\nretry: 10\n\n",
    "data: a\ndata:b\ndata\ndata:  c\n\n\n\n\ndata: d\n\n",
    "event: lost\n\ndata: kept\nevent: x\nevent: y\n\nevent\ndata: z\n\n",
    ": only a comment\n\n",
    "data: cut off\ndata: here",
    "data: 0123456789012345678901234567890123456789012345678901234567890123456789\n\nevent: e\ndata: f\n\n",
    "\n\ndata: a\n\n",
];

fn with_every_line_ending() -> Vec<String> {
    let mixed = |stream: &str| {
        let mut endings = ["\r\n", "\r", "\n", "\r\n", "\n"].iter().cycle();
        let lines: Vec<&str> = stream.split('\n').collect();
        let mut text = lines[0].to_owned();
        for line in &lines[1..] {
            text.push_str(endings.next().unwrap());
            text.push_str(line);
        }
        text
    };
    let all = |stream: &&str| {
        [
            stream.to_string(),
            stream.replace('\n', "\r\n"),
            stream.replace('\n', "\r"),
            mixed(stream),
        ]
    };
    CORPUS.iter().flat_map(all).collect()
}

#[test]
fn events_are_read_as_the_standard_reads_them() {
    assert_eq!(
        seen(CORPUS[0]),
        [event("", "{\"a\":1}"), event("", "[DONE]")]
    );
    assert_eq!(
        seen(CORPUS[1]),
        [
            event("message_start", "{}"),
            event("ping", "{\"type\":\"ping\"}")
        ]
    );
    assert_eq!(seen(CORPUS[2]), [event("", "é日🦀")]);
    assert_eq!(seen(CORPUS[3]), [event("", "a\nb\n\n c"), event("", "d")]);
    assert_eq!(seen(CORPUS[4]), [event("y", "kept"), event("", "z")]);
    assert_eq!(seen(CORPUS[5]), []);
    assert_eq!(seen(CORPUS[6]), [event("", "cut off\nhere")]);
    assert_eq!(
        seen(CORPUS[7]),
        [(None, String::new(), true), event("e", "f")]
    );
    assert_eq!(seen(CORPUS[8]), [event("", "a")]);
}

#[test]
fn line_endings_make_no_difference() {
    for (index, stream) in with_every_line_ending().iter().enumerate() {
        assert_eq!(seen(stream), seen(CORPUS[index / 4]), "{stream:?}");
    }
}

#[test]
fn a_stream_cut_at_any_two_places_gives_the_same_events_and_bytes() {
    let mut cuts = 0;
    for stream in with_every_line_ending() {
        let whole = read([stream.as_bytes()]);
        assert_eq!(whole.1, stream.as_bytes());
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                cuts += 1;
                let (head, rest) = stream.as_bytes().split_at(first);
                let (middle, tail) = rest.split_at(second - first);
                assert_eq!(
                    read([head, middle, tail]),
                    whole,
                    "{stream:?} cut at {first}, {second}"
                );
            }
        }
        assert_eq!(
            read(stream.as_bytes().chunks(1)),
            whole,
            "{stream:?} byte by byte"
        );
    }
    println!("{cuts} cut streams");
}

#[test]
fn an_event_within_a_chunk_is_a_slice_of_it() {
    let chunk = Bytes::from_static(b"data: a\n\ndata: b\n\n");
    let mut framer = SseDecoder::new(LIMIT);
    framer.push(&chunk);
    let first = framer.next().unwrap();
    let second = framer.next().unwrap();
    assert_eq!(first.raw.as_ptr(), chunk.as_ptr());
    assert_eq!(second.raw.as_ptr(), chunk[first.raw.len()..].as_ptr());
    assert!(framer.next().is_none() && framer.finish().is_none());
}

#[test]
fn an_event_comes_out_with_its_last_byte_and_not_later() {
    for ending in ["\n\n", "\r\n\r\n", "\r\r", "\n\r"] {
        let mut framer = SseDecoder::new(LIMIT);
        framer.push(&Bytes::from(format!("data: a{ending}")));
        assert_eq!(framer.next().unwrap().data(), b"a", "{ending:?}");
    }
}

#[test]
fn an_oversize_event_is_passed_on_in_pieces_and_never_held() {
    let mut framer = SseDecoder::new(1024);
    let chunk = Bytes::from(vec![b'x'; 600]);
    let mut passed = 0;
    for _ in 0..10_000 {
        framer.push(&chunk);
        while let Some(event) = framer.next() {
            assert!(event.is_oversize());
            passed += event.raw.len();
        }
        assert!(framer.carried.len() <= 1024);
    }
    assert_eq!(passed, 600 * 10_000);
    let cut_off = SseDecoder::clone(&framer).finish().unwrap();
    assert!(cut_off.raw.is_empty() && cut_off.is_oversize());
    framer.push(&Bytes::from_static(b"\n\ndata: a\n\n"));
    assert!(framer.next().unwrap().is_oversize());
    assert_eq!(framer.next().unwrap().data(), b"a");
}

#[test]
fn an_event_is_oversize_by_its_length_and_not_by_its_chunks() {
    for (padding, oversize) in [(0, false), (1, true)] {
        let stream = format!("data: {}\n\n", "y".repeat(LIMIT - 8 + padding));
        for size in [1, 7, stream.len()] {
            let (seen, _) = read(stream.as_bytes().chunks(size));
            assert_eq!(seen.len(), 1);
            assert_eq!(seen[0].2, oversize, "{padding} {size}");
        }
    }
}

#[test]
fn an_event_at_the_limit_is_not_oversize_for_the_line_feed_of_its_last_line_end() {
    for (padding, oversize) in [(0, false), (1, true)] {
        let stream = format!("data: {}\n\r\n", "y".repeat(LIMIT - 8 + padding));
        for size in [1, 7, LIMIT + padding, stream.len()] {
            let (seen, _) = read(stream.as_bytes().chunks(size));
            assert_eq!(seen[0].2, oversize, "{padding} {size}");
        }
    }
}

#[test]
fn what_the_end_cut_off_comes_only_when_the_stream_is_finished() {
    let mut framer = SseDecoder::new(LIMIT);
    framer.push(&Bytes::from_static(b"data: a\n\ndata: b\n"));
    assert_eq!(framer.next().unwrap().data(), b"a");
    assert!(framer.next().is_none());
    let rest = framer.finish().unwrap();
    assert_eq!((&rest.raw[..], rest.data()), (&b"data: b\n"[..], &b"b"[..]));
}

#[test]
fn data_is_changed_in_place_and_all_else_stays() {
    let changed = |stream: &'static str, range, with: &str| {
        let mut framer = SseDecoder::new(LIMIT);
        framer.push(&Bytes::from_static(stream.as_bytes()));
        framer.next().unwrap().raw_with(range, with.as_bytes())
    };
    assert_eq!(
        changed(": c\r\ndata:{\"m\":1}\r\nid: 1\r\n\r\n", 5..6, "\"x\""),
        ": c\r\ndata:{\"m\":\"x\"}\r\nid: 1\r\n\r\n"
    );
    assert_eq!(
        changed("event: e\ndata: ab\ndata: cd\n\n", 3..4, "x"),
        "event: e\ndata: ab\ndata: xd\n\n"
    );
}

#[test]
fn other_data_leaves_all_other_lines_as_they_are() {
    for (stream, data, expected) in [
        (
            ": c\r\nid: 1\r\ndata:{}\r\nretry: 5\r\n\r\n",
            "[1]",
            ": c\r\nid: 1\r\ndata:[1]\r\nretry: 5\r\n\r\n",
        ),
        (
            "event: e\ndata: {\nid: 7\ndata: }\n\n",
            "{\"a\":1}",
            "event: e\ndata: {\"a\":1}\nid: 7\n\n",
        ),
        (
            "data: {}\n\n",
            "{\r\n\"a\":\r1\n}",
            "data: {\ndata: \"a\":\ndata: 1\ndata: }\n\n",
        ),
        ("\u{feff}data\n\n", "1", "\u{feff}data:1\n\n"),
    ] {
        let mut framer = SseDecoder::new(LIMIT);
        framer.push(&Bytes::from_static(stream.as_bytes()));
        let event = framer.next().unwrap();
        assert_eq!(event.with_data(data.as_bytes()), expected, "{stream:?}");
    }
}

#[test]
fn a_byte_order_mark_within_a_stream_is_part_of_its_line() {
    let mut decoder = SseDecoder::new(LIMIT);
    decoder.push(&Bytes::from_static(b"\n\xEF\xBB\xBFdata: a\ndata: b\n\n"));
    let events: Vec<_> = std::iter::from_fn(|| decoder.next()).collect();
    assert_eq!(events[1].data(), b"b");
    assert_eq!(
        events[1].with_data(b"c"),
        &b"\xEF\xBB\xBFdata: a\ndata: c\n\n"[..]
    );
}

#[test]
fn an_encoded_event_decodes_to_itself() {
    for (name, data) in [(None, "{}"), (Some("error"), "a\nb"), (Some("x"), "\n")] {
        let frame = encode_event(name, data.as_bytes());
        let (seen, _) = read([&frame[..]]);
        assert_eq!(seen, [event(name.unwrap_or_default(), data)]);
    }
}

proptest! {
    #[test]
    fn any_stream_cut_anyhow_gives_the_same_events_and_bytes(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "\n", "\r", "\r\n", "\n\n", "data:", "data: x", "event: e", ":", " ", "é", "\u{feff}", "id: 1", "0123456789012345678901234567890",
        ]), 0..30),
        cuts in prop::collection::vec(1usize..20, 1..60),
    ) {
        let stream = pieces.concat();
        let mut rest = stream.as_bytes();
        let mut chunks = Vec::new();
        for cut in cuts.iter().cycle() {
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            chunks.push(chunk);
            rest = after;
            if rest.is_empty() { break }
        }
        let whole = read([stream.as_bytes()]);
        prop_assert_eq!(&whole.1, stream.as_bytes());
        prop_assert_eq!(read(chunks), whole);
    }
}
