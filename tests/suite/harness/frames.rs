//! Frames of Amazon's event streams as a caller gets them, each of which is checked byte for byte.

use serde_json::Value;

/// A frame: its headers, all of them texts, and its payload.
#[derive(Debug)]
pub struct ReceivedFrame {
    headers: Vec<(String, String)>,
    pub payload: Vec<u8>,
}

impl ReceivedFrame {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.payload).unwrap_or_default()
    }
}

/// The frames of a whole stream.
///
/// # Panics
/// The bytes are no frames, or a checksum is wrong.
pub fn received_frames(mut bytes: &[u8]) -> Vec<ReceivedFrame> {
    let mut frames = Vec::new();
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes[..4].try_into().unwrap());
    while !bytes.is_empty() {
        let (total, headers) = (number(bytes) as usize, number(&bytes[4..]) as usize);
        assert_eq!(number(&bytes[8..]), checksum(&bytes[..8]), "the prelude");
        let (frame, rest) = bytes.split_at(total);
        let (content, sum) = frame.split_at(total - 4);
        assert_eq!(number(sum), checksum(content), "the frame");
        let (mut fields, payload) = content[12..].split_at(headers);
        let mut frame = ReceivedFrame {
            headers: Vec::new(),
            payload: payload.to_vec(),
        };
        while !fields.is_empty() {
            let name = usize::from(fields[0]);
            let (name, value) = fields[1..].split_at(name);
            assert_eq!(value[0], 7, "a text");
            let length = usize::from(u16::from_be_bytes([value[1], value[2]]));
            let (text, rest) = value[3..].split_at(length);
            let texts = [name, text].map(|bytes| String::from_utf8(bytes.to_vec()).unwrap());
            frame.headers.push(texts.into());
            fields = rest;
        }
        frames.push(frame);
        bytes = rest;
    }
    frames
}

/// CRC-32, bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 * (sum & 1));
        }
    }
    !sum
}
