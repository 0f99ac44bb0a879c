//! DNS messages: the question for a name's addresses, and what counts of the answer (RFC 1035, RFC 3596).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Bytes of a message's header.
const HEADER: usize = 12;
/// Bytes of a name on the wire, its lengths and the root included.
const NAME_BYTES_MAX: usize = 255;
/// Bytes of one label.
const LABEL_BYTES_MAX: usize = 63;

const CNAME: u16 = 5;
const CLASS_IN: u16 = 1;

/// Which addresses are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    V4,
    V6,
}

/// What a name server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Addresses of the family asked for; none where the name has others only.
    Addresses {
        addresses: Vec<IpAddr>,
        ttl: Duration,
    },
    NoSuchName,
    /// The answer did not fit: it is to be asked for over TCP.
    Truncated,
    /// The server cannot or will not say; its response code.
    Refused(u8),
}

/// The question for the addresses of `name`, as a message; none where `name` is no name of a host.
pub fn question(id: u16, name: &str, family: Family) -> Option<Vec<u8>> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let mut message = Vec::with_capacity(HEADER + name.len() + 6);
    message.extend(id.to_be_bytes());
    // One question, recursion desired.
    message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    for label in name.split('.') {
        if label.is_empty() || label.len() > LABEL_BYTES_MAX {
            return None;
        }
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.push(0);
    if message.len() - HEADER > NAME_BYTES_MAX {
        return None;
    }
    message.extend(family.record_type().to_be_bytes());
    message.extend(CLASS_IN.to_be_bytes());
    Some(message)
}

/// Reads an answer to `question`; none where the message is something else, or broken.
///
/// The records' owners are not compared with the chain of aliases: whoever answers a recursive
/// question could as well name other addresses for the last of them.
pub fn read(message: &[u8], question: &[u8], family: Family) -> Option<Reply> {
    let is_ours = message.get(..2)? == question.get(..2)?
        && message.get(2)? & 0x80 != 0
        && message.get(4..6)? == [0, 1]
        && message
            .get(HEADER..question.len())?
            .eq_ignore_ascii_case(&question[HEADER..]);
    if !is_ours {
        return None;
    }
    if message[2] & 0x02 != 0 {
        return Some(Reply::Truncated);
    }
    match message[3] & 0x0f {
        0 => {}
        3 => return Some(Reply::NoSuchName),
        code => return Some(Reply::Refused(code)),
    }
    let mut rest = Reader {
        message,
        at: question.len(),
    };
    let mut addresses = Vec::new();
    let mut ttl = Duration::MAX;
    for _ in 0..u16::from_be_bytes([message[6], message[7]]) {
        let record = rest.record()?;
        let address = family.address(&record);
        if address.is_some() || record.kind == CNAME {
            ttl = ttl.min(record.ttl);
        }
        addresses.extend(address);
    }
    Some(Reply::Addresses { addresses, ttl })
}

impl Family {
    fn record_type(self) -> u16 {
        match self {
            Self::V4 => 1,
            Self::V6 => 28,
        }
    }

    fn address(self, record: &Record<'_>) -> Option<IpAddr> {
        if record.kind != self.record_type() || record.class != CLASS_IN {
            return None;
        }
        match self {
            Self::V4 => <[u8; 4]>::try_from(record.data)
                .ok()
                .map(|octets| Ipv4Addr::from(octets).into()),
            Self::V6 => <[u8; 16]>::try_from(record.data)
                .ok()
                .map(|octets| Ipv6Addr::from(octets).into()),
        }
    }
}

struct Record<'m> {
    kind: u16,
    class: u16,
    ttl: Duration,
    data: &'m [u8],
}

struct Reader<'m> {
    message: &'m [u8],
    at: usize,
}

impl<'m> Reader<'m> {
    fn record(&mut self) -> Option<Record<'m>> {
        self.skip_name()?;
        let kind = self.number()?;
        let class = self.number()?;
        let ttl = u32::from(self.number()?) << 16 | u32::from(self.number()?);
        let length = self.number()?;
        Some(Record {
            kind,
            class,
            // With its highest bit set it counts as zero (RFC 2181, 8).
            ttl: Duration::from_secs(i32::try_from(ttl).map_or(0, |ttl| ttl as u64)),
            data: self.take(usize::from(length))?,
        })
    }

    /// A pointer ends a name, so that nothing needs to be followed.
    fn skip_name(&mut self) -> Option<()> {
        loop {
            match self.take(1)?[0] {
                0 => return Some(()),
                length @ 1..=63 => _ = self.take(usize::from(length))?,
                192.. => return self.take(1).map(|_| ()),
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2)
            .map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn take(&mut self, count: usize) -> Option<&'m [u8]> {
        let taken = self.message.get(self.at..self.at + count)?;
        self.at += count;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, Reply, question, read};
    use proptest::prelude::*;
    use std::time::Duration;

    /// An answer to `question` with these flags and records: each a name, type, TTL and data.
    fn answer(question: &[u8], flags: [u8; 2], records: &[(&[u8], u16, u32, &[u8])]) -> Vec<u8> {
        let mut message = question.to_vec();
        message[2..4].copy_from_slice(&flags);
        message[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
        for (name, kind, ttl, data) in records {
            message.extend(*name);
            message.extend(kind.to_be_bytes());
            message.extend(1u16.to_be_bytes());
            message.extend(ttl.to_be_bytes());
            message.extend((data.len() as u16).to_be_bytes());
            message.extend(*data);
        }
        message
    }

    fn asked() -> Vec<u8> {
        question(0x1234, "api.provider.example", Family::V4).unwrap()
    }

    #[test]
    fn a_question_is_laid_out_as_the_standard_says() {
        let mut expected = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        expected.extend(b"\x03api\x08provider\x07example\0\0\x01\0\x01");
        assert_eq!(asked(), expected);
        assert_eq!(
            question(0x1234, "api.provider.example.", Family::V4),
            Some(expected)
        );
    }

    #[test]
    fn what_is_no_name_is_not_asked_for() {
        let long_label = "a".repeat(64);
        let long_name = ["abcdefg"; 32].join(".");
        for name in ["", ".", "a..b", &long_label, &long_name] {
            assert_eq!(question(1, name, Family::V4), None, "{name}");
        }
    }

    #[test]
    fn addresses_behind_an_alias_live_as_long_as_the_shortest_lived_record() {
        let question = asked();
        let message = answer(
            &question,
            [0x81, 0x80],
            &[
                (&[0xc0, 12], 5, 20, b"\x01b\xc0\x10"),
                (b"\x01b\xc0\x10", 1, 300, &[192, 0, 2, 1]),
                (b"\x01b\0", 1, 60, &[192, 0, 2, 2]),
                // Not asked for.
                (&[0xc0, 12], 28, 5, &[0; 16]),
                (&[0xc0, 12], 46, 1, b"signature"),
            ],
        );
        assert_eq!(
            read(&message, &question, Family::V4),
            Some(Reply::Addresses {
                addresses: vec!["192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap()],
                ttl: Duration::from_secs(20),
            })
        );
    }

    #[test]
    fn an_answer_tells_when_it_has_no_addresses() {
        let question = asked();
        for (flags, expected) in [
            ([0x81, 0x83], Reply::NoSuchName),
            ([0x81, 0x82], Reply::Refused(2)),
            ([0x83, 0x80], Reply::Truncated),
            (
                [0x81, 0x80],
                Reply::Addresses {
                    addresses: Vec::new(),
                    ttl: Duration::MAX,
                },
            ),
        ] {
            let message = answer(&question, flags, &[]);
            assert_eq!(read(&message, &question, Family::V4), Some(expected));
        }
    }

    #[test]
    fn answers_to_other_questions_are_none() {
        let ours = asked();
        let other_id = question(0x1235, "api.provider.example", Family::V4).unwrap();
        let other_name = question(0x1234, "apj.provider.example", Family::V4).unwrap();
        let other_family = question(0x1234, "api.provider.example", Family::V6).unwrap();
        for other in [other_id, other_name, other_family] {
            let message = answer(&other, [0x81, 0x80], &[]);
            assert_eq!(read(&message, &ours, Family::V4), None);
        }
        assert_eq!(read(&ours, &ours, Family::V4), None, "a question");
        let spelled = question(0x1234, "API.Provider.example", Family::V4).unwrap();
        let message = answer(&spelled, [0x81, 0x80], &[]);
        assert!(read(&message, &ours, Family::V4).is_some());
    }

    #[test]
    fn a_message_that_breaks_off_is_none() {
        let question = asked();
        let records: [(&[u8], u16, u32, &[u8]); 1] = [(&[0xc0, 12], 1, 60, &[192, 0, 2, 1])];
        let message = answer(&question, [0x81, 0x80], &records);
        for end in 0..message.len() {
            assert_eq!(read(&message[..end], &question, Family::V4), None, "{end}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(flags in any::<[u8; 2]>(), tail in proptest::collection::vec(any::<u8>(), 0..200)) {
            let question = asked();
            let mut message = answer(&question, flags, &[]);
            message[6..8].copy_from_slice(&[0, 9]);
            message.extend(tail);
            let _ = read(&message, &question, Family::V4);
        }
    }
}
