//! Tests of frames that are cut, changed and made up.

use super::*;
use crate::headers::{FrameHeader, FrameHeaderValue, check_headers};
use crate::kind::FrameKind;
use crate::test_frames::{checksum, framed, header, texts};
use proptest::prelude::*;

/// The code of an error in a stream.
const ERROR_CODE: &str = "Busy";

const FRAME_BYTES_MAX: usize = 1 << 20;

/// The payloads of a stream in these chunks.
fn payloads<'c>(
    chunks: impl Iterator<Item = &'c [u8]>,
) -> (FrameDecoder, Result<Vec<Bytes>, InvalidFrame>) {
    let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
    let mut payloads = Vec::new();
    for chunk in chunks {
        decoder.push(&Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next() {
                Ok(Some(frame)) => payloads.push(frame.payload),
                Ok(None) => break,
                Err(invalid) => return (decoder, Err(invalid)),
            }
        }
    }
    (decoder, Ok(payloads))
}

fn decode(bytes: &[u8]) -> Result<Vec<Bytes>, InvalidFrame> {
    payloads(std::iter::once(bytes)).1
}

#[test]
fn a_frame_cut_at_every_byte_is_the_same_frame() {
    let headers = texts(&[(":message-type", "event"), (":event-type", "messageStop")]);
    let stream = [
        framed(&headers, br#"{"stopReason":"end_turn"}"#),
        framed(&[], b""),
        framed(&headers, b"last"),
    ]
    .concat();
    let expected = decode(&stream).unwrap();
    assert_eq!(expected[0], r#"{"stopReason":"end_turn"}"#);
    assert_eq!(expected.len(), 3);
    for cut in 0..=stream.len() {
        let (start, end) = stream.split_at(cut);
        let (decoder, received) = payloads([start, end].into_iter());
        assert_eq!(received.unwrap(), expected, "cut at {cut}");
        assert!(decoder.is_between_frames());
    }
    let (decoder, received) = payloads(stream.chunks(1));
    assert_eq!(received.unwrap(), expected);
    assert!(decoder.is_between_frames());
    let (decoder, received) = payloads(std::iter::once(&stream[..stream.len() - 1]));
    assert_eq!(received.unwrap(), expected[..2]);
    assert!(!decoder.is_between_frames());
}

#[test]
fn a_published_frame_is_read() {
    // The format's own example: no headers, and a JSON payload.
    let frame = b"\x00\x00\x00\x1d\x00\x00\x00\x00\xfd\x52\x8c\x5a{'foo':'bar'}\xc3\x65\x39\x36";
    assert_eq!(framed(&[], b"{'foo':'bar'}"), frame);
    assert_eq!(decode(frame).unwrap(), ["{'foo':'bar'}"]);
}

#[test]
fn headers_have_values_of_ten_types() {
    let values: [(u8, &[u8], FrameHeaderValue<'_>); 10] = [
        (0, b"", FrameHeaderValue::Bool(true)),
        (1, b"", FrameHeaderValue::Bool(false)),
        (2, b"\xff", FrameHeaderValue::Byte(-1)),
        (3, b"\x01\x00", FrameHeaderValue::Short(256)),
        (4, b"\x00\x01\x00\x00", FrameHeaderValue::Integer(1 << 16)),
        (5, &[0xff; 8], FrameHeaderValue::Long(-1)),
        (6, b"\x00\xff", FrameHeaderValue::Bytes(b"\x00\xff")),
        (7, "é".as_bytes(), FrameHeaderValue::Text("é")),
        (8, &[0, 0, 0, 0, 0, 0, 0, 9], FrameHeaderValue::Timestamp(9)),
        (9, &[7; 16], FrameHeaderValue::Uuid([7; 16])),
    ];
    let names: Vec<String> = (0..10).map(|number| format!("h{number}")).collect();
    let headers = names.iter().zip(&values);
    let headers: Vec<u8> = headers
        .flat_map(|(name, (kind, value, _))| header(name, *kind, value))
        .collect();
    let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
    decoder.push(&framed(&headers, b"").into());
    let frame = decoder.next().unwrap().unwrap();
    let expected = names.iter().zip(values);
    let expected: Vec<_> = expected
        .map(|(name, (_, _, value))| FrameHeader { name, value })
        .collect();
    assert_eq!(frame.headers().collect::<Vec<_>>(), expected);
    assert_eq!(frame.text("h7"), Some("é"));
    assert_eq!(frame.text("h6"), None);
}

#[test]
fn headers_name_the_kind_of_a_frame() {
    let cases: [(&[(&str, &str)], FrameKind<'_>); 5] = [
        (
            &[(":event-type", "metadata"), (":message-type", "event")],
            FrameKind::Event("metadata"),
        ),
        (
            &[
                (":message-type", "exception"),
                (":exception-type", "throttlingException"),
            ],
            FrameKind::Exception("throttlingException"),
        ),
        (
            &[
                (":message-type", "error"),
                (":error-code", ERROR_CODE),
                (":error-message", "wait"),
            ],
            FrameKind::Error {
                code: ERROR_CODE,
                message: "wait",
            },
        ),
        (&[(":event-type", "metadata")], FrameKind::Unknown),
        (&[(":message-type", "event")], FrameKind::Unknown),
    ];
    for (headers, kind) in cases {
        let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
        decoder.push(&framed(&texts(headers), b"{}").into());
        let frame = decoder.next().unwrap().unwrap();
        assert_eq!(frame.kind(), kind);
    }
}

#[test]
fn malformed_headers_are_refused() {
    let twice = texts(&[("a", "1"), ("a", "2")]);
    let many: Vec<u8> = (0..65)
        .flat_map(|number| header(&format!("h{number}"), 0, b""))
        .collect();
    let cases: [(&[u8], &str); 8] = [
        (b"\x00\x00", "a name is empty"),
        (b"\x01a\x0a", "a value has an unknown type"),
        (b"\x01a", "the last one is cut off"),
        (b"\x09a\x00", "the last one is cut off"),
        (b"\x01a\x07\x00\x02x", "the last one is cut off"),
        (b"\x01a\x07\x00\x01\xff", "a text is not UTF-8"),
        (&twice, "a name comes twice"),
        (&many, "there are too many"),
    ];
    for (headers, reason) in cases {
        let invalid = decode(&framed(headers, b"payload")).unwrap_err();
        assert_eq!(invalid, InvalidFrame::Headers(reason));
    }
}

/// Twelve bytes with a right checksum.
fn lengths(frame: u32, headers: u32) -> Vec<u8> {
    let mut bytes = frame.to_be_bytes().to_vec();
    bytes.extend(headers.to_be_bytes());
    bytes.extend(checksum(&bytes).to_be_bytes());
    bytes
}

#[test]
fn lengths_beyond_their_limits_are_refused_before_more_bytes_arrive() {
    let most = u32::try_from(FRAME_BYTES_MAX).unwrap();
    let cases = [
        (15, 0, InvalidFrame::Length(15)),
        (0, 0, InvalidFrame::Length(0)),
        (most + 1, 0, InvalidFrame::Length(most + 1)),
        (u32::MAX, 0, InvalidFrame::Length(u32::MAX)),
        (16, 1, InvalidFrame::HeadersLength(1)),
        (
            most,
            (128 << 10) + 1,
            InvalidFrame::HeadersLength((128 << 10) + 1),
        ),
        (100, u32::MAX, InvalidFrame::HeadersLength(u32::MAX)),
    ];
    for (frame, headers, invalid) in cases {
        assert_eq!(decode(&lengths(frame, headers)), Err(invalid));
    }
    assert_eq!(decode(&lengths(most, 128 << 10)), Ok(Vec::new()));
    let mut wrong = lengths(100, 0);
    wrong[11] ^= 1;
    assert_eq!(decode(&wrong), Err(InvalidFrame::PreludeChecksum));
}

#[test]
fn an_invalid_frame_ends_the_stream() {
    let mut broken = framed(&[], b"payload");
    let last = broken.len() - 1;
    broken[last] ^= 1;
    let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
    decoder.push(&broken.into());
    for _ in 0..2 {
        assert_eq!(decoder.next().unwrap_err(), InvalidFrame::Checksum);
        decoder.push(&framed(&[], b"good").into());
    }
    assert!(!decoder.is_between_frames());
}

#[test]
fn a_large_frame_in_single_bytes_is_kept_once() {
    let frame = framed(&[], &vec![b'x'; FRAME_BYTES_MAX - 16]);
    let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
    for byte in frame.chunks(1) {
        assert!(decoder.carried.len() < FRAME_BYTES_MAX);
        decoder.push(&Bytes::copy_from_slice(byte));
        if let Some(frame) = decoder.next().unwrap() {
            assert_eq!(frame.payload.len(), FRAME_BYTES_MAX - 16);
        }
    }
    assert!(decoder.is_between_frames());
    assert!(decoder.carried.capacity() == 0);
}

/// The texts of a frame's headers, and its payload.
type AnyFrame = (Vec<(String, String)>, Vec<u8>);

fn any_frames() -> impl Strategy<Value = Vec<AnyFrame>> {
    let text = "[a-z:é-]{0,12}";
    let headers = prop::collection::btree_map("[a-z:-]{1,20}", text, 0..5)
        .prop_map(|headers| headers.into_iter().collect());
    let payload = prop::collection::vec(any::<u8>(), 0..200);
    prop::collection::vec((headers, payload), 1..6)
}

fn stream(frames: &[AnyFrame]) -> Vec<u8> {
    let frames = frames.iter().map(|(headers, payload)| {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, text)| (&**name, &**text))
            .collect();
        framed(&texts(&headers), payload)
    });
    frames.collect::<Vec<_>>().concat()
}

proptest! {
    #[test]
    fn random_frames_survive_random_cuts(frames in any_frames(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let stream = stream(&frames);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let mut decoder = FrameDecoder::new(FRAME_BYTES_MAX);
        let mut received = Vec::new();
        for cut in cuts.windows(2) {
            decoder.push(&Bytes::copy_from_slice(&stream[cut[0]..cut[1]]));
            while let Some(frame) = decoder.next().unwrap() {
                let headers = frame.headers().map(|header| (header.name.to_owned(), frame.text(header.name).unwrap().to_owned()));
                received.push((headers.collect::<Vec<_>>(), frame.payload.to_vec()));
            }
        }
        prop_assert_eq!(received, frames);
        prop_assert!(decoder.is_between_frames());
    }

    #[test]
    fn one_changed_bit_anywhere_is_found(frames in any_frames(), bit in any::<prop::sample::Index>()) {
        let mut stream = stream(&frames);
        let bit = bit.index(stream.len() * 8);
        stream[bit / 8] ^= 1 << (bit % 8);
        // A wrong length may also wait for bytes that never come, but only if its own checksum were right.
        prop_assert!(decode(&stream).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_refused_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), headers in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = decode(&bytes);
        let framed = framed(&headers, &bytes);
        let refused = decode(&framed).is_err();
        prop_assert_eq!(refused, check_headers(&headers).is_err());
    }
}
