//! Writes one line of JSON, field by field, straight into a buffer: the access log has a line for every request.

use super::timestamp::{append_rfc3339, three_digits};
use std::io::Write;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// An object that is being written. Names of fields are plain text, which needs no escapes.
pub struct JsonLine<'b> {
    out: &'b mut Vec<u8>,
    /// What separates the next field from what is before it.
    separator: u8,
}

impl<'b> JsonLine<'b> {
    /// Begins an object at the end of `out`.
    pub fn begin(out: &'b mut Vec<u8>) -> Self {
        Self {
            out,
            separator: b'{',
        }
    }

    /// Ends the object and the line.
    pub fn end(self) {
        if self.separator == b'{' {
            self.out.push(b'{');
        }
        self.out.extend_from_slice(b"}\n");
    }

    pub fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        if value
            .bytes()
            .fold(false, |found, byte| found | is_escaped(byte))
        {
            serde_json::to_writer(&mut *self.out, value).expect("a buffer takes every text");
            return;
        }
        self.out.push(b'"');
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(b'"');
    }

    pub fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        self.digits(value);
    }

    pub fn boolean(&mut self, name: &str, value: bool) {
        self.name(name);
        let value: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(value);
    }

    pub fn address(&mut self, name: &str, value: IpAddr) {
        self.name(name);
        let IpAddr::V4(address) = value else {
            write!(self.out, "\"{value}\"").expect("a buffer takes every text");
            return;
        };
        let mut separator = b'"';
        for octet in address.octets() {
            self.out.push(separator);
            self.digits(octet.into());
            separator = b'.';
        }
        self.out.push(b'"');
    }

    /// Writes a time by RFC 3339, to the millisecond.
    pub fn time(&mut self, name: &str, value: SystemTime) {
        self.name(name);
        self.out.push(b'"');
        append_rfc3339(self.out, value);
        self.out.push(b'"');
    }

    /// Writes a duration in milliseconds, rounded down to microseconds.
    pub fn milliseconds(&mut self, name: &str, value: Duration) {
        self.name(name);
        let micros = u64::try_from(value.as_micros()).unwrap_or(u64::MAX);
        self.digits(micros / 1000);
        let digits = three_digits((micros % 1000) as u32);
        let kept = match digits {
            [_, b'0', b'0'] => 1,
            [_, _, b'0'] => 2,
            _ => 3,
        };
        self.out.push(b'.');
        self.out.extend_from_slice(&digits[..kept]);
    }

    fn name(&mut self, name: &str) {
        self.out.reserve(name.len() + 4);
        self.out.extend_from_slice(&[self.separator, b'"']);
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.separator = b',';
    }

    fn digits(&mut self, value: u64) {
        let mut buffer = itoa::Buffer::new();
        self.out.extend_from_slice(buffer.format(value).as_bytes());
    }
}

fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn written(write: impl FnOnce(&mut JsonLine<'_>)) -> String {
        let mut out = Vec::new();
        let mut line = JsonLine::begin(&mut out);
        write(&mut line);
        line.end();
        String::from_utf8(out).expect("JSON is text")
    }

    #[test]
    fn a_line_is_the_json_of_its_fields_in_their_order() {
        assert_eq!(written(|_| {}), "{}\n");
        let line = written(|line| {
            line.text("text", "a");
            line.number("number", u64::MAX);
            line.boolean("boolean", true);
            line.address("v4", "192.0.2.10".parse().expect("an address"));
            line.address("v6", "2001:db8::1".parse().expect("an address"));
            line.time("time", SystemTime::UNIX_EPOCH);
        });
        let expected = r#"{"text":"a","number":18446744073709551615,"boolean":true,"v4":"192.0.2.10","v6":"2001:db8::1","time":"1970-01-01T00:00:00.000Z"}"#;
        assert_eq!(line, format!("{expected}\n"));
    }

    #[test]
    fn every_text_is_read_back_as_it_was() {
        let controls: String = (0..=0x7f_u8).map(char::from).collect();
        for text in [
            "",
            "plain",
            "é\u{1f600}\u{2028}",
            "a\"b",
            "a\\",
            "a\nb",
            &controls,
        ] {
            let line: Value = serde_json::from_str(&written(|line| line.text("t", text)))
                .unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(line, json!({"t": text}));
        }
    }

    #[test]
    fn milliseconds_are_written_as_the_shortest_number() {
        for (nanoseconds, expected) in [
            (0, "0.0"),
            (999, "0.0"),
            (1_000, "0.001"),
            (10_000, "0.01"),
            (100_000, "0.1"),
            (1_230_000, "1.23"),
            (1_000_000, "1.0"),
            (61_002_003_000, "61002.003"),
        ] {
            let line = written(|line| line.milliseconds("t", Duration::from_nanos(nanoseconds)));
            assert_eq!(line, format!("{{\"t\":{expected}}}\n"));
        }
    }
}
