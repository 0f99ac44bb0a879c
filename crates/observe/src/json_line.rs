//! Writes one line of JSON, field by field, straight into a buffer: the access log has a line for every request.

use headgate_core::timestamp::{append_rfc3339, three_digits};
use std::io::Write;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// An object that is being written.
pub struct JsonLineWriter<'b> {
    out: &'b mut Vec<u8>,
    /// Where the object begins in `out`.
    start: usize,
}

/// The name of a field, as it is written after the field before: `,"name":`. Made by [`field_name`].
#[derive(Clone, Copy)]
pub struct EncodedFieldName(pub &'static PaddedFieldName);

/// The longest name, with comma, quotes and colon.
const FIELD_NAME_BYTES_MAX: usize = 32;

/// A name with zeros after it: a copy of a known length takes two instructions, one of another length a call.
pub struct PaddedFieldName {
    bytes: [u8; FIELD_NAME_BYTES_MAX],
    length: usize,
}

impl PaddedFieldName {
    /// `name` is at most [`FIELD_NAME_BYTES_MAX`] bytes long.
    pub const fn from_separated(name: &str) -> Self {
        let name = name.as_bytes();
        let mut bytes = [0; FIELD_NAME_BYTES_MAX];
        bytes.split_at_mut(name.len()).0.copy_from_slice(name);
        Self {
            bytes,
            length: name.len(),
        }
    }
}

/// The [`EncodedFieldName`] of a literal, which is plain text without characters to escape.
macro_rules! field_name {
    ($name:literal) => {{
        const NAME: &$crate::json_line::PaddedFieldName =
            &$crate::json_line::PaddedFieldName::from_separated(concat!(",\"", $name, "\":"));
        $crate::json_line::EncodedFieldName(NAME)
    }};
}
pub(super) use field_name;

impl<'b> JsonLineWriter<'b> {
    /// Begins an object at the end of `out`.
    pub fn begin(out: &'b mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start }
    }

    /// Ends the object and the line.
    pub fn end(self) {
        // In place of the comma before the first field.
        match self.out.get_mut(self.start) {
            Some(first) => *first = b'{',
            None => self.out.push(b'{'),
        }
        self.out.extend_from_slice(b"}\n");
    }

    pub fn text(&mut self, name: EncodedFieldName, value: &str) {
        if has_escaped(value.as_bytes()) {
            self.name(name, 0);
            serde_json::to_writer(&mut *self.out, value).expect("a buffer takes every text");
            return;
        }
        self.plain_text(name, value);
    }

    /// Writes a text that contains nothing that must be escaped, such as an id of the gateway or a name in its source.
    pub fn plain_text(&mut self, name: EncodedFieldName, value: &str) {
        debug_assert!(!has_escaped(value.as_bytes()), "{value}");
        self.name(name, value.len() + 2);
        self.out.push(b'"');
        self.out.extend_from_slice(value.as_bytes());
        self.out.push(b'"');
    }

    pub fn number(&mut self, name: EncodedFieldName, value: u64) {
        self.name(name, NUMBER_BYTES_MAX);
        self.digits(value);
    }

    pub fn boolean(&mut self, name: EncodedFieldName, value: bool) {
        self.name(name, "false".len());
        let value: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(value);
    }

    pub fn address(&mut self, name: EncodedFieldName, value: IpAddr) {
        self.name(name, 0);
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
    pub fn time(&mut self, name: EncodedFieldName, value: SystemTime) {
        self.name(name, 0);
        self.out.push(b'"');
        append_rfc3339(self.out, value);
        self.out.push(b'"');
    }

    /// Writes a duration in milliseconds, rounded down to microseconds.
    pub fn milliseconds(&mut self, name: EncodedFieldName, value: Duration) {
        self.name(name, NUMBER_BYTES_MAX + 4);
        let micros = value.subsec_micros();
        match value.as_secs() {
            0 if micros < 1000 => self.out.push(b'0'),
            seconds => self.digits(seconds.saturating_mul(1000) + u64::from(micros / 1000)),
        }
        let [a, b, c] = three_digits(micros % 1000);
        let zeros = match (b, c) {
            (b'0', b'0') => 2,
            (_, b'0') => 1,
            _ => 0,
        };
        self.out.extend_from_slice(&[b'.', a, b, c]);
        self.out.truncate(self.out.len() - zeros);
    }

    /// Writes a number that is given in billionths as a decimal number, without zeros at its end.
    pub fn billionths(&mut self, name: EncodedFieldName, value: u64) {
        self.name(name, NUMBER_BYTES_MAX + 1);
        self.digits(value / 1_000_000_000);
        let mut rest = value % 1_000_000_000;
        if rest > 0 {
            self.out.push(b'.');
        }
        let mut unit = 100_000_000;
        while rest > 0 {
            self.out.push(b'0' + (rest / unit) as u8);
            rest %= unit;
            unit /= 10;
        }
    }

    /// Writes the name of a field, with room for a value of `value_bytes`.
    #[inline]
    fn name(&mut self, EncodedFieldName(name): EncodedFieldName, value_bytes: usize) {
        self.out.reserve(FIELD_NAME_BYTES_MAX + value_bytes);
        self.out.extend_from_slice(&name.bytes);
        let padding = FIELD_NAME_BYTES_MAX - name.length;
        self.out.truncate(self.out.len() - padding);
    }

    fn digits(&mut self, value: u64) {
        if value < 10 {
            return self.out.push(b'0' + value as u8);
        }
        if value < 1000 {
            let leading_zeros = usize::from(value < 100);
            let [a, b, c] = three_digits(value as u32);
            let digits = u32::from_le_bytes([a, b, c, 0]) >> (8 * leading_zeros);
            self.out.extend_from_slice(&digits.to_le_bytes());
            self.out.truncate(self.out.len() - 1 - leading_zeros);
            return;
        }
        let mut buffer = itoa::Buffer::new();
        self.out.extend_from_slice(buffer.format(value).as_bytes());
    }
}

/// The longest number: `u64::MAX`.
const NUMBER_BYTES_MAX: usize = 20;

/// Whether a byte of `text` must be escaped in JSON. Looks at eight bytes at a time.
fn has_escaped(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<8>() else {
        return text
            .iter()
            .any(|byte| matches!(byte, ..b' ' | b'"' | b'\\'));
    };
    let (chunks, _) = text.as_chunks::<8>();
    // The last chunk overlaps the one before it.
    let found = chunks.iter().chain([last]).fold(0, |found, chunk| {
        found | escaped_in(u64::from_le_bytes(*chunk))
    });
    found != 0
}

/// The high bits of the bytes of `word` that must be escaped. A borrow can mark the byte above one of them as well, so
/// that only zero or not is exact.
fn escaped_in(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = ONES << 7;
    let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, b' ') | is(b'"') | is(b'\\')) & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn written(write: impl FnOnce(&mut JsonLineWriter<'_>)) -> String {
        let mut out = Vec::new();
        let mut line = JsonLineWriter::begin(&mut out);
        write(&mut line);
        line.end();
        String::from_utf8(out).expect("JSON is text")
    }

    #[test]
    fn billionths_are_a_decimal_number_without_zeros_at_its_end() {
        for (value, text) in [
            (0, "0"),
            (1, "0.000000001"),
            (860_000, "0.00086"),
            (1_500_000_000, "1.5"),
            (2_000_000_000, "2"),
            (u64::MAX, "18446744073.709551615"),
        ] {
            let line = written(|line| line.billionths(field_name!("cost"), value));
            assert_eq!(line, format!("{{\"cost\":{text}}}\n"));
        }
    }

    #[test]
    fn a_line_is_the_json_of_its_fields_in_their_order() {
        assert_eq!(written(|_| {}), "{}\n");
        let line = written(|line| {
            line.text(field_name!("text"), "a");
            line.number(field_name!("number"), u64::MAX);
            line.boolean(field_name!("boolean"), true);
            line.address(field_name!("v4"), "192.0.2.10".parse().expect("an address"));
            line.address(
                field_name!("v6"),
                "2001:db8::1".parse().expect("an address"),
            );
            line.time(field_name!("time"), SystemTime::UNIX_EPOCH);
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
            "\u{7f}1234567",
            "1234567\"",
            "12345678\\",
            "123456789abc\u{1f}",
            &controls,
        ] {
            let line: Value =
                serde_json::from_str(&written(|line| line.text(field_name!("t"), text)))
                    .unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(line, json!({"t": text}));
        }
    }

    #[test]
    fn a_number_of_any_length_has_all_its_digits() {
        for value in (0..2000).chain([9_999, 10_000, 999_999, 1_000_000, u64::MAX]) {
            let line = written(|line| line.number(field_name!("n"), value));
            assert_eq!(line, format!("{{\"n\":{value}}}\n"));
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
            (12_340_000, "12.34"),
            (999_999_999, "999.999"),
            (1_000_000_000, "1000.0"),
            (61_002_003_000, "61002.003"),
        ] {
            let line = written(|line| {
                line.milliseconds(field_name!("t"), Duration::from_nanos(nanoseconds))
            });
            assert_eq!(line, format!("{{\"t\":{expected}}}\n"));
        }
    }
}
