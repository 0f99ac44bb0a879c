//! The Huffman code of HPACK (RFC 7541, appendix B).

use std::sync::LazyLock;

/// Length of each octet's code, in bits. The code is canonical, so that the lengths determine the codes. The code of
/// EOS comes after all others.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];
const LENGTH_MIN: u32 = 5;
const LENGTH_MAX: u32 = 30;
/// Codes up to this many bits, which nearly all text uses, are found in one lookup.
const SHORT: u32 = 8;

struct HuffmanDecodeTable {
    /// By the first [`SHORT`] bits: the octet and the length of its code; length 0 if the code is longer.
    short: [(u8, u8); 1 << SHORT],
    /// By length: the first code, the number of codes, and the index of their octets in `octets`.
    lengths: [(u32, u32, usize); LENGTH_MAX as usize + 1],
    octets: Vec<u8>,
}

static CODE: LazyLock<HuffmanDecodeTable> = LazyLock::new(HuffmanDecodeTable::new);

impl HuffmanDecodeTable {
    fn new() -> Self {
        let mut code = Self {
            short: [(0, 0); 1 << SHORT],
            lengths: [(0, 0, 0); LENGTH_MAX as usize + 1],
            octets: Vec::with_capacity(256),
        };
        let mut next = 0;
        for length in LENGTH_MIN..=LENGTH_MAX {
            next <<= 1;
            let first = (next, code.octets.len());
            for octet in 0..=u8::MAX {
                if u32::from(LENGTHS[usize::from(octet)]) != length {
                    continue;
                }
                if length <= SHORT {
                    let begin = (next << (SHORT - length)) as usize;
                    let end = begin + (1 << (SHORT - length));
                    code.short[begin..end].fill((octet, length as u8));
                }
                code.octets.push(octet);
                next += 1;
            }
            code.lengths[length as usize] = (first.0, next - first.0, first.1);
        }
        code
    }
}

/// Appends the decoded text to `decoded`; `None` if `encoded` is malformed.
pub(super) fn decode(encoded: &[u8], decoded: &mut Vec<u8>) -> Option<()> {
    let code = &*CODE;
    let (mut bits, mut count) = (0_u64, 0_u32);
    let mut encoded = encoded.iter();
    loop {
        while count <= LENGTH_MAX
            && let Some(byte) = encoded.next()
        {
            bits = bits << 8 | u64::from(*byte);
            count += 8;
        }
        let first = |length: u32| (bits >> (count - length)) as u32 & ((1 << length) - 1);
        if count >= SHORT
            && let (octet, length @ 1..) = code.short[first(SHORT) as usize]
        {
            decoded.push(octet);
            count -= u32::from(length);
            continue;
        }
        let found = (LENGTH_MIN..=LENGTH_MAX.min(count)).find_map(|length| {
            let (begin, octets, at) = code.lengths[length as usize];
            let offset = first(length).checked_sub(begin)?;
            (offset < octets).then(|| (code.octets[at + offset as usize], length))
        });
        match found {
            Some((octet, length)) => {
                decoded.push(octet);
                count -= length;
            }
            // The rest is padding: the most significant bits of EOS, which are all ones.
            None => return (count < 8 && first(count) == (1 << count) - 1).then_some(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strings_of_the_specification_are_decoded() {
        for (encoded, text) in [
            (
                &b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"[..],
                "www.example.com",
            ),
            (b"\xa8\xeb\x10\x64\x9c\xbf", "no-cache"),
            (b"\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f", "custom-key"),
            (b"\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf", "custom-value"),
            (
                b"\x9d\x29\xad\x17\x18\x63\xc7\x8f\x0b\x97\xc8\xe9\xae\x82\xae\x43\xd3",
                "https://www.example.com",
            ),
            (b"", ""),
        ] {
            let mut decoded = Vec::new();
            assert_eq!(decode(encoded, &mut decoded), Some(()), "{text}");
            assert_eq!(decoded, text.as_bytes());
        }
    }

    #[test]
    fn every_octet_has_its_code_and_padding_is_ones_and_short() {
        for (encoded, expected) in [
            (&b"\xff\xc7"[..], Some(&b"\0"[..])),
            (b"\xff\xff\xff\xf3", Some(b"\n")),
            (b"\xff\xff\xfb\xbf", Some(b"\xff")),
            (b"\xff\xaf", Some(b"#")),
            (b"\xb9", Some(b":")),
            (b"\x07\xff", None),
            (b"\x00\x00\x00", None),
            (b"\xff", None),
            (b"\xff\xff\xff\xff", None),
        ] {
            let mut decoded = Vec::new();
            let done = decode(encoded, &mut decoded);
            assert_eq!(done.map(|()| &decoded[..]), expected, "{encoded:x?}");
        }
    }
}
