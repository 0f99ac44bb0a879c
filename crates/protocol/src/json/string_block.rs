//! Finds the bytes of a string that its scan must look at, sixteen bytes at a time.

use wide::u8x16;

/// The number of bytes of a block.
pub(super) const BLOCK_BYTES: usize = 16;

/// The bytes of one block that matter to the scan of a string. Bit n is about byte n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringBlock {
    /// Quotes, backslashes and control characters, and what is behind the end of the text.
    pub specials: u32,
    /// Bytes that are not ASCII.
    pub high: u32,
}

impl StringBlock {
    /// The block that begins at `at`.
    #[inline(always)]
    pub fn at(bytes: &[u8], at: usize) -> Self {
        match bytes[at..].first_chunk() {
            Some(block) => Self::of(block),
            None => Self::last(&bytes[at..]),
        }
    }

    /// The block of the last bytes of a text.
    #[cold]
    fn last(rest: &[u8]) -> Self {
        // Zeros are control characters, so that the scan stops at the end.
        let mut block = [0; BLOCK_BYTES];
        block[..rest.len()].copy_from_slice(rest);
        Self::of(&block)
    }

    #[inline(always)]
    fn of(block: &[u8; BLOCK_BYTES]) -> Self {
        let bytes = u8x16::new(*block);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let is_control = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
        let specials = is_control | is(b'"') | is(b'\\');
        Self {
            specials: specials.to_bitmask(),
            high: bytes.to_bitmask(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_bits_at_each_position() {
        for byte in 0..=u8::MAX {
            for position in 0..BLOCK_BYTES {
                let mut block = *b"abcdefghijklmnop";
                block[position] = byte;
                let found = StringBlock::of(&block);
                let is_special = byte < b' ' || b"\"\\".contains(&byte);
                let context = format!("{byte} at {position}");
                assert_eq!(
                    found.specials,
                    u32::from(is_special) << position,
                    "{context}"
                );
                assert_eq!(found.high, u32::from(byte >= 0x80) << position, "{context}");
            }
        }
    }

    #[test]
    fn what_is_behind_the_end_is_special() {
        let text = b"abcdefghijklmnopqrs";
        for (at, specials) in [(0, 0), (3, 0), (4, 1 << 15), (18, 0xFFFE), (19, 0xFFFF)] {
            assert_eq!(StringBlock::at(text, at).specials, specials, "{at}");
        }
    }
}
