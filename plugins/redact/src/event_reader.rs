//! Splits a stream of server-sent events at the empty lines.

use std::mem;

/// The bytes of a stream that are not yet an event. The gateway passes whole events to plugins, and then nothing stays
/// here; other proxies pass the stream as it arrives.
#[derive(Debug, Default)]
pub struct EventReader {
    rest: Vec<u8>,
}

impl EventReader {
    /// Takes the next bytes of the stream and returns the events that are complete, each with its empty line.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = end_of_event(&self.rest) {
            let rest = self.rest.split_off(end);
            events.push(mem::replace(&mut self.rest, rest));
        }
        events
    }

    /// The end of a stream that does not end with an empty line.
    pub fn finish(&mut self) -> Vec<u8> {
        mem::take(&mut self.rest)
    }
}

/// The place after the first empty line.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let mut line = 0;
    let mut at = 0;
    while at < bytes.len() {
        let ending = match &bytes[at..] {
            [b'\r', b'\n', ..] => 2,
            [b'\r' | b'\n', ..] => 1,
            _ => 0,
        };
        if ending > 0 && at == line {
            return Some(at + ending);
        }
        at += ending.max(1);
        if ending > 0 {
            line = at;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::EventReader;

    #[test]
    fn events_end_with_an_empty_line() {
        for stream in [
            "data: a\n\ndata: b\n\n: c",
            "data: a\r\n\r\ndata: b\r\n\r\n: c",
            "data: a\r\rdata: b\r\r: c",
        ] {
            for at in 0..stream.len() {
                let mut reader = EventReader::default();
                let mut events = reader.push(&stream.as_bytes()[..at]);
                events.extend(reader.push(&stream.as_bytes()[at..]));
                // A line feed that arrives after its carriage return may be taken for an empty line of its own.
                let texts: Vec<_> = events
                    .iter()
                    .map(|event| std::str::from_utf8(event).unwrap().trim())
                    .collect();
                let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
                assert_eq!(texts, ["data: a", "data: b"], "{stream:?} at {at}");
                events.push(reader.finish());
                assert_eq!(events.concat(), stream.as_bytes());
            }
        }
    }
}
