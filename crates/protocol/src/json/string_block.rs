//! Finds the bytes of a string that its scan must look at, 16 or 64 bytes at a time.

use wide::u8x16;

/// The number of bytes of a part.
const PART_BYTES: usize = 16;

/// The bytes of a block of 16 times `PARTS` that matter to the scan of a string. Bit n is about byte n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StringBlock<const PARTS: usize> {
    /// Quotes, backslashes and control characters, and what is behind the end of the text.
    pub specials: u64,
    /// Bytes that are not ASCII.
    pub high: u64,
}

/// A block of 16 bytes: most strings end in their first ones.
pub(super) type SmallBlock = StringBlock<1>;

impl<const PARTS: usize> StringBlock<PARTS> {
    /// The number of bytes of a block.
    pub const BYTES: usize = PARTS * PART_BYTES;

    /// The block that begins at `at`.
    #[inline(always)]
    pub fn at(bytes: &[u8], at: usize) -> Self {
        let rest = &bytes[at..];
        match rest.get(..Self::BYTES) {
            Some(block) => Self::of(block),
            None => Self::last(rest),
        }
    }

    /// The block of the last bytes of a text.
    #[cold]
    fn last(rest: &[u8]) -> Self {
        // Zeros are control characters, so that the scan stops at the end.
        let mut block = [[0; PART_BYTES]; PARTS];
        block.as_flattened_mut()[..rest.len()].copy_from_slice(rest);
        Self::of(block.as_flattened())
    }

    #[inline(always)]
    fn of(block: &[u8]) -> Self {
        let (parts, _) = block.as_chunks::<PART_BYTES>();
        let (mut specials, mut high) = (0, 0);
        for (index, part) in parts.iter().enumerate() {
            let part = u8x16::new(*part);
            // With this bit inverted, the quote comes right after the control characters, and nothing else does.
            let swapped = part ^ u8x16::splat(b'"' ^ b' ');
            let is_quote_or_control = swapped.min(u8x16::splat(b' ')).simd_eq(swapped);
            let is_special = is_quote_or_control | part.simd_eq(u8x16::splat(b'\\'));
            specials |= u64::from(is_special.to_bitmask()) << (index * PART_BYTES);
            high |= u64::from(part.to_bitmask()) << (index * PART_BYTES);
        }
        Self { specials, high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_each_byte<const PARTS: usize>() {
        let length = StringBlock::<PARTS>::BYTES;
        for byte in 0..=u8::MAX {
            for position in 0..length {
                let mut block = vec![b'a'; length];
                block[position] = byte;
                let is_special = byte < b' ' || b"\"\\".contains(&byte);
                let expected = StringBlock::<PARTS> {
                    specials: u64::from(is_special) << position,
                    high: u64::from(byte >= 0x80) << position,
                };
                let found = StringBlock::at(&block, 0);
                assert_eq!(found, expected, "{byte} at {position} of {length}");
            }
        }
    }

    #[test]
    fn each_byte_has_its_bits_at_each_position() {
        check_each_byte::<1>();
        check_each_byte::<4>();
    }

    #[test]
    fn what_is_behind_the_end_is_special() {
        let text = b"abcdefghijklmnopqrs";
        for (at, specials) in [(0, 0), (3, 0), (4, 1 << 15), (18, 0xFFFE), (19, 0xFFFF)] {
            assert_eq!(SmallBlock::at(text, at).specials, specials, "{at}");
        }
        for (at, length) in [(0, 19), (18, 1), (19, 0)] {
            let specials = StringBlock::<4>::at(text, at).specials;
            assert_eq!(specials, u64::MAX << length, "{at}");
        }
    }
}
