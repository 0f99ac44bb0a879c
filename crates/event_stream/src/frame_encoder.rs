//! Writes frames.

use crate::frame::PRELUDE_BYTES;
use bytes::Bytes;

/// The type of a header whose value is a text.
const TEXT: u8 = 7;

/// The bytes of a frame whose headers are texts.
///
/// # Panics
/// A name is longer than 255 bytes, a text than 64 KiB, or the frame than 4 GiB, which the format cannot have.
pub fn encode_frame(headers: &[(&str, &str)], payload: &[u8]) -> Bytes {
    let mut fields = Vec::new();
    for (name, text) in headers {
        fields.push(u8::try_from(name.len()).expect("names are short"));
        fields.extend_from_slice(name.as_bytes());
        fields.push(TEXT);
        let length = u16::try_from(text.len()).expect("texts of headers are short");
        fields.extend(length.to_be_bytes());
        fields.extend_from_slice(text.as_bytes());
    }
    let length = |bytes: usize| {
        u32::try_from(bytes)
            .expect("frames are small")
            .to_be_bytes()
    };
    let total = PRELUDE_BYTES + fields.len() + payload.len() + size_of::<u32>();
    let mut frame = Vec::with_capacity(total);
    frame.extend(length(total));
    frame.extend(length(fields.len()));
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.extend(fields);
    frame.extend_from_slice(payload);
    frame.extend(crc32fast::hash(&frame).to_be_bytes());
    frame.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoder::FrameDecoder;
    use crate::test_frames::{framed, texts};

    #[test]
    fn a_frame_is_written_as_the_format_has_it_and_reads_back() {
        for (headers, payload) in [
            (&[][..], &b""[..]),
            (
                &[(":message-type", "event"), (":event-type", "messageStart")],
                b"{\"p\":\"ab\"}",
            ),
            (&[("n", "")], "\u{1f44b}".as_bytes()),
        ] {
            let frame = encode_frame(headers, payload);
            assert_eq!(frame, framed(&texts(headers), payload));
            let mut decoder = FrameDecoder::new(1 << 20);
            decoder.push(&frame);
            let read = decoder.next().unwrap().unwrap();
            assert_eq!(read.payload, payload);
            for (name, text) in headers {
                assert_eq!(read.text(name), Some(*text));
            }
        }
    }
}
