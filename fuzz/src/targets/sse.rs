//! Server-sent events: cuts change nothing, no byte is lost, and edits are read back.

use crate::input::cuts;
use bytes::Bytes;
use headgate_protocol::sse::{SseDecoder, SseEvent, decode_events, encode_event};

/// Small, so that inputs have events that exceed it.
const EVENT_BYTES_MAX: usize = 128;
/// Larger than any input.
const UNLIMITED: usize = 1 << 30;

/// What a client sees of an event.
#[derive(Debug, PartialEq, Eq)]
struct VisibleEvent {
    name: Option<Vec<u8>>,
    data: Vec<u8>,
    is_oversize: bool,
}

pub fn run(input: &[u8]) {
    let whole = read(&[input]);
    assert_eq!(whole.1, input, "bytes of the whole stream");
    for pieces in cuts(input) {
        let cut = read(&pieces);
        assert_eq!(cut.1, input, "bytes of the stream in pieces");
        assert_eq!(cut.0, whole.0, "events of the stream in pieces");
    }
    let stream = Bytes::copy_from_slice(input);
    let mut before: &[u8] = b"";
    for event in decode_events(&stream, UNLIMITED) {
        check_edits(before, &event);
        before = b"\n";
    }
}

/// The events of a stream that arrives in pieces, and all its bytes.
fn read(pieces: &[&[u8]]) -> (Vec<VisibleEvent>, Vec<u8>) {
    let mut decoder = SseDecoder::new(EVENT_BYTES_MAX);
    let (mut visible, mut bytes) = (Vec::new(), Vec::new());
    let mut in_oversize = false;
    let mut note = |event: SseEvent| {
        bytes.extend_from_slice(&event.raw);
        // The LF of a CR LF that was cut may be returned before or after an event.
        if &event.raw[..] == b"\n" {
            return;
        }
        // The number of pieces of an oversize event depends on the cuts.
        let continues = in_oversize && event.is_oversize();
        in_oversize = event.is_oversize();
        if event.is_oversize() && !continues || !event.data().is_empty() {
            visible.push(VisibleEvent {
                name: event.name().map(<[u8]>::to_vec),
                data: event.data().to_vec(),
                is_oversize: event.is_oversize(),
            });
        }
    };
    for piece in pieces {
        decoder.push(&Bytes::copy_from_slice(piece));
        while let Some(event) = decoder.next() {
            note(event);
        }
    }
    decoder.finish().into_iter().for_each(&mut note);
    (visible, bytes)
}

/// Other data in place of an event's are read back, under the same name. `before` is what the stream has before the event: a
/// byte order mark counts only at its start.
fn check_edits(before: &[u8], event: &SseEvent) {
    assert_eq!(event.shared_data(), event.data());
    let data = event.data();
    let name = event.name();
    if data.is_empty() {
        return;
    }
    let edited = [
        (event.with_data(b"{}"), b"{}".to_vec()),
        (event.raw_with(0..data.len(), b"[]"), b"[]".to_vec()),
    ];
    for (raw, wanted) in edited {
        let events = decode_events(&[before, &raw].concat().into(), UNLIMITED);
        let read: Vec<&[u8]> = events.iter().map(SseEvent::data).collect();
        let read: Vec<&[u8]> = read.into_iter().filter(|data| !data.is_empty()).collect();
        assert_eq!(read, [&wanted[..]], "{}", raw.escape_ascii());
        assert!(
            events.iter().any(|event| event.name() == name) || name.is_some_and(is_not_text),
            "the name is another one: {}",
            raw.escape_ascii()
        );
    }
    if let Some(name) = name.map_or(Some(None), |name| std::str::from_utf8(name).ok().map(Some)) {
        let encoded = encode_event(name, data);
        let events = decode_events(&encoded, UNLIMITED);
        // A carriage return within a line ends it for readers.
        if !data.contains(&b'\r') && !name.unwrap_or_default().contains('\r') {
            assert_eq!(events.len(), 1);
            assert_eq!((events[0].name(), events[0].data()), (event.name(), data));
        }
    }
}

/// Names that are no UTF-8 are dropped where an event is written anew.
fn is_not_text(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_err()
}
