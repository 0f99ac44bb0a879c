//! PNG images: black, of any size in pixels, and as many bytes long as asked for.

use std::fmt;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Bytes of a chunk besides its content: its length, its kind and its checksum.
const CHUNK_BYTES: usize = 12;

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    width: u32,
    height: u32,
}

impl Size {
    /// The size of an image whose size is left to the provider.
    pub const ORDINARY: Self = Self {
        width: 1024,
        height: 1024,
    };

    const SIDE_MAX: u32 = 8192;

    /// Reads `<width>x<height>`, each 1 to 8192.
    pub fn parse(text: &str) -> Option<Self> {
        let (width, height) = text.split_once('x')?;
        let side = |text: &str| {
            let side = text.parse().ok();
            side.filter(|side| (1..=Self::SIDE_MAX).contains(side))
        };
        Some(Self {
            width: side(width)?,
            height: side(height)?,
        })
    }

    /// The tokens an image of this size counts for.
    pub fn tokens(self) -> u64 {
        (u64::from(self.width) * u64::from(self.height)).div_ceil(256) + 64
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

/// A black image of at least `bytes` bytes: what it lacks is a chunk that readers skip.
pub fn image(size: Size, bytes: usize) -> Vec<u8> {
    let mut image = SIGNATURE.to_vec();
    let mut header = [size.width.to_be_bytes(), size.height.to_be_bytes()].concat();
    // One bit of grey for each pixel, and nothing out of the ordinary.
    header.extend_from_slice(&[1, 0, 0, 0, 0]);
    push_chunk(&mut image, *b"IHDR", &header);
    let row = 1 + size.width.div_ceil(8) as usize;
    push_chunk(&mut image, *b"IDAT", &zeros(row * size.height as usize));
    let short_of = bytes.saturating_sub(image.len() + CHUNK_BYTES);
    if let Some(padding) = short_of.checked_sub(CHUNK_BYTES) {
        push_chunk(&mut image, *b"paDd", &vec![0; padding]);
    }
    push_chunk(&mut image, *b"IEND", &[]);
    image
}

fn push_chunk(image: &mut Vec<u8>, kind: [u8; 4], content: &[u8]) {
    let length = u32::try_from(content.len()).expect("images asked for stay below 4 GiB");
    image.extend_from_slice(&length.to_be_bytes());
    let checked_from = image.len();
    image.extend_from_slice(&kind);
    image.extend_from_slice(content);
    let sum = checksum(&image[checked_from..]);
    image.extend_from_slice(&sum.to_be_bytes());
}

/// A zlib stream (RFC 1950) of `count` zero bytes, at least one: a zero, and then repeats of it.
fn zeros(count: usize) -> Vec<u8> {
    /// The longest repeat, in bytes.
    const LONGEST: usize = 258;
    let mut bits = Bits {
        bytes: vec![0x78, 0x01],
        used: 0,
    };
    // The last block, with the fixed codes of RFC 1951, 3.2.6; codes are packed from their top bit.
    bits.push(&[1, 1, 0]);
    let zero = [0, 0, 1, 1, 0, 0, 0, 0];
    let left = count - 1;
    bits.push(&zero);
    for _ in 0..left / LONGEST {
        bits.push(&[1, 1, 0, 0, 0, 1, 0, 1]);
        bits.push(&[0; 5]);
    }
    for _ in 0..left % LONGEST {
        bits.push(&zero);
    }
    bits.push(&[0; 7]);
    // Adler-32 of zeros: the first sum stays 1, the second counts them.
    let sum = u32::try_from(count % 65_521).expect("smaller than its modulus") << 16 | 1;
    let mut stream = bits.bytes;
    stream.extend_from_slice(&sum.to_be_bytes());
    stream
}

/// Bits packed into bytes from the lowest up.
struct Bits {
    bytes: Vec<u8>,
    /// Bits used of the last byte; none of a byte that is not begun.
    used: u8,
}

impl Bits {
    fn push(&mut self, bits: &[u8]) {
        for bit in bits {
            if self.used == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= bit << self.used;
            }
            self.used = (self.used + 1) % 8;
        }
    }
}

/// The CRC-32 of chunks.
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        TABLE[usize::from(sum.to_le_bytes()[0] ^ byte)] ^ (sum >> 8)
    });
    !sum
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            let is_odd = value & 1 == 1;
            value >>= 1;
            if is_odd {
                value ^= 0xEDB8_8320;
            }
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_of_the_standards() {
        assert_eq!(checksum(b"123456789"), 0xCBF4_3926);
        // As written by zlib for a single zero byte, sum included.
        assert_eq!(
            zeros(1),
            [0x78, 0x01, 0x63, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01]
        );
    }

    #[test]
    fn sizes_are_read_within_bounds() {
        for (text, read) in [
            ("1024x1536", Some("1024x1536")),
            ("0x1", None),
            ("9000x1", None),
            ("auto", None),
            ("", None),
        ] {
            let size = Size::parse(text).map(|size| size.to_string());
            assert_eq!(size.as_deref(), read, "{text}");
        }
    }

    #[test]
    fn an_image_has_exactly_the_bytes_asked_for_if_it_needs_no_more() {
        let smallest = image(Size::ORDINARY, 0).len();
        assert!(smallest < 2_000, "{smallest}");
        for (asked, bytes) in [
            (smallest, smallest),
            (smallest + 12, smallest + 12),
            (100_000, 100_000),
        ] {
            let image = image(Size::ORDINARY, asked);
            assert_eq!(image.len(), bytes);
            assert!(image.ends_with(b"IEND\xae\x42\x60\x82"));
        }
    }
}
